"""``censquant warm-up``: compile before anybody waits for it."""

import typer


def warm_up() -> None:
    """Compile the kernels of the main estimators, or load those that are there.

    Where the installation could not compile them, the first fit does. This command does it before
    anybody waits: in the image of a container, once for all containers.

    Example, a line of a Dockerfile: RUN censquant warm-up
    """
    from censquant._warm_up import warm_up as run

    done = run()
    if not done.n_compiled:
        typer.echo(f"{done.n_loaded} kernels loaded; nothing had to be compiled.")
        return
    loaded = f", {done.n_loaded} loaded" if done.n_loaded else ""
    typer.echo(f"{done.n_compiled} kernels compiled{loaded} in {done.seconds:.0f} s.")
    if done.folder is None:
        raise OSError(
            "no folder could keep them: set NUMBA_CACHE_DIR to one that can be written to."
        )
    typer.echo(f"They are kept in {done.folder}.")
