"""Where files are found, and what is done about wrong ones; downloads are from a local server."""

import hashlib
import io
import os
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from censquant.datasets import _store, describe, fetch_files
from censquant.datasets._store import _DownloadBar as DownloadBar
from censquant.datasets._store import locate

(FILE,) = describe("whas").files
PATH = FILE.path
CONTENT = b"published bytes\n" * 10_000
GOOD = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


def sha256(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


class Server:
    """Answers every request with `content`, of which it announces `announced` bytes."""

    def __init__(self):
        self.content, self.announced, self.status, self.requests = CONTENT, None, 200, []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                owner.requests.append(self.path)
                self.send_response(owner.status)
                n_bytes = len(owner.content) if owner.announced is None else owner.announced
                self.send_header("Content-Length", str(n_bytes))
                self.end_headers()
                self.wfile.write(owner.content)

            def log_message(self, *args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/whas_train_test.h5"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def cache(folder, tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def server(cache, folder):
    served = Server()
    folder.publish(PATH, url=served.url, checksum=GOOD, size=len(CONTENT))
    yield served
    served.close()


def put(place, content):
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)


def files_in(root):
    return sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())


def test_a_file_that_is_nowhere_is_downloaded_into_the_cache(server, cache):
    assert locate(FILE) == cache / PATH
    assert (cache / PATH).read_bytes() == CONTENT
    assert files_in(cache) == [PATH]
    assert server.requests == ["/whas_train_test.h5"]


def test_a_file_in_the_cache_makes_no_request(server, cache):
    put(cache / PATH, CONTENT)
    assert locate(FILE) == cache / PATH
    assert server.requests == []


def test_the_users_folder_comes_before_the_cache(server, cache, folder):
    put(cache / PATH, CONTENT)
    put(folder.root / PATH, CONTENT)
    assert locate(FILE) == folder.root / PATH
    assert server.requests == []


@pytest.mark.parametrize("value", ["", None])
def test_the_users_folder_may_be_unnamed(server, cache, monkeypatch, value):
    if value is None:
        monkeypatch.delenv("CENSQUANT_DATA")
    else:
        monkeypatch.setenv("CENSQUANT_DATA", value)
    assert locate(FILE) == cache / PATH


def test_folders_may_start_at_the_home_of_the_user(server, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("CENSQUANT_CACHE", "~/own-cache")
    assert locate(FILE) == tmp_path / "own-cache" / PATH
    monkeypatch.setenv("CENSQUANT_DATA", "~/own-cache")
    assert locate(FILE) == tmp_path / "own-cache" / PATH
    assert len(server.requests) == 1


def test_an_edited_file_in_the_users_folder_is_named_and_left_alone(server, folder):
    put(folder.root / PATH, b"edited")
    message = (
        f"{str(folder.root / PATH)!r} in CENSQUANT_DATA is not the published file ({GOOD} "
        f"expected, {sha256(b'edited')} found); replace it by {server.url} or move it away."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        locate(FILE)
    assert (folder.root / PATH).read_bytes() == b"edited"
    assert server.requests == []


def damaged(cache):
    return f"{str(cache / PATH)!r} in the cache was damaged and has been deleted; "


def test_a_damaged_file_in_the_cache_is_named_and_downloaded_anew(server, cache):
    put(cache / PATH, b"half of it")
    message = f"{damaged(cache)}the published file was downloaded again from {server.url}."
    with pytest.warns(UserWarning, match=f"^{re.escape(message)}$"):
        assert locate(FILE).read_bytes() == CONTENT
    assert locate(FILE).read_bytes() == CONTENT
    assert len(server.requests) == 1


def test_a_damaged_file_that_cannot_be_replaced_is_deleted_and_both_are_said(cache, nobody, folder):
    folder.publish(PATH, url=f"{nobody}/whas_train_test.h5")
    put(cache / PATH, b"half of it")
    message = damaged(cache) + offline(PATH, FILE.url, "ConnectionError", cache)
    with pytest.raises(ConnectionError, match=f"^{re.escape(message)}$"):
        locate(FILE)
    assert files_in(cache) == []


def test_a_damaged_file_and_a_corrupt_download_are_both_said(server, cache):
    put(cache / PATH, b"half of it")
    server.content = b"<html>Please log in</html>"
    with pytest.raises(ValueError, match=f"^{re.escape(damaged(cache))}'whas.*was deleted as"):
        locate(FILE)
    assert files_in(cache) == []


@pytest.mark.parametrize(
    ("exists", "fault"), [(False, "does not exist"), (True, "is not a folder")]
)
class TestAWrongFolderOfTheUser:
    @pytest.fixture
    def wrong(self, exists, cache, tmp_path, monkeypatch):
        place = tmp_path / "wrong"
        if exists:
            place.write_text("a file")
        monkeypatch.setenv("CENSQUANT_DATA", str(place))
        return place

    def test_it_is_told_where_the_file_cannot_be_had(self, wrong, fault, cache, nobody, folder):
        folder.publish(PATH, url=f"{nobody}/whas_train_test.h5")
        message = (
            f"CENSQUANT_DATA names {str(wrong)!r}, which {fault}; "
            f"{offline(PATH, FILE.url, 'ConnectionError', cache)}"
        )
        with pytest.raises(ConnectionError, match=f"^{re.escape(message)}$"):
            locate(FILE)

    def test_it_is_told_where_pooch_is_missing_too(self, wrong, fault, monkeypatch):
        monkeypatch.setitem(sys.modules, "pooch", None)
        monkeypatch.setenv("CENSQUANT_CACHE", "")
        start = f"CENSQUANT_DATA names {str(wrong)!r}, which {fault}; pooch is needed to"
        with pytest.raises(ImportError, match=f"^{re.escape(start)}"):
            locate(FILE)

    def test_it_is_no_matter_where_the_file_is_had(self, wrong, fault, server, cache):
        assert locate(FILE) == cache / PATH


def test_a_corrupt_download_is_deleted_and_named(server, cache):
    server.content = b"<html>Please log in</html>"
    message = (
        f"{PATH!r} was deleted as {server.url} sent it, because that is not the published file "
        f"({GOOD} expected, {sha256(server.content)} found); try again later or put the file at "
        f"{str(cache / PATH)!r}."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        locate(FILE)
    assert files_in(cache) == []


def offline(path, url, cause, cache):
    return (
        f"{path!r} could not be downloaded from {url} ({cause}); without a network, put the file "
        f"at {str(cache / path)!r} or, under the name {path!r}, into the folder that the "
        "environment variable CENSQUANT_DATA names."
    )


def test_a_download_that_breaks_off_leaves_nothing(server, cache):
    server.announced = len(CONTENT) + 1
    message = offline(PATH, server.url, "ChunkedEncodingError", cache)
    with pytest.raises(ConnectionError, match=f"^{re.escape(message)}$"):
        locate(FILE)
    assert files_in(cache) == []


def test_a_page_that_is_gone_leaves_nothing(server, cache):
    server.status = 404
    message = offline(PATH, server.url, "HTTPError", cache)
    with pytest.raises(ConnectionError, match=f"^{re.escape(message)}$"):
        locate(FILE)
    assert files_in(cache) == []


def test_without_a_network_the_file_its_address_and_both_places_are_named(cache, nobody, folder):
    folder.publish(PATH, url=f"{nobody}/whas_train_test.h5")
    message = offline(PATH, FILE.url, "ConnectionError", cache)
    with pytest.raises(ConnectionError, match=f"^{re.escape(message)}$"):
        locate(FILE)


def count_digests(monkeypatch):
    counted, digest = [], _store._digest
    monkeypatch.setattr(
        _store, "_digest", lambda path, file: counted.append(path) or digest(path, file)
    )
    return counted


def test_a_file_is_checked_once_as_long_as_it_stays_as_it_is(server, folder, monkeypatch):
    place = folder.root / PATH
    put(place, CONTENT)
    counted = count_digests(monkeypatch)
    locate(FILE)
    locate(FILE)
    assert counted == [place]
    put(place, CONTENT[::-1])
    os.utime(place, ns=(1, 1))
    with pytest.raises(ValueError, match="is not the published file"):
        locate(FILE)


def test_a_checksum_of_git_is_that_of_git(folder):
    # `printf 'hello\n' | git hash-object --stdin`
    (file,) = describe("phm2008").files
    folder.publish(file.path, checksum="git-sha1:ce013625030ba8dba906f756967f9e9ca394464a")
    put(folder.root / file.path, b"hello\n")
    assert _store._digest(folder.root / file.path, file) == file.checksum


def test_a_missing_pooch_is_named_with_its_remedy(cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    message = 'pooch is needed to download data; install it with: pip install "censquant[data]"'
    with pytest.raises(ImportError, match=f"^{re.escape(message)}$"):
        locate(FILE)


def test_a_file_that_is_there_needs_no_pooch(server, cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    put(cache / PATH, CONTENT)
    assert locate(FILE) == cache / PATH


def test_the_cache_is_that_of_the_system_unless_named(cache, monkeypatch):
    import pooch

    monkeypatch.setenv("CENSQUANT_CACHE", "")
    monkeypatch.setattr(pooch, "os_cache", lambda project: cache / project)
    assert _store._cache("") == cache / "censquant"


def test_all_files_of_a_set_come_at_once(server, cache):
    assert fetch_files("whas") == (cache / PATH,)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


class TestBar:
    def test_there_is_none_without_a_terminal(self, monkeypatch):
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        with DownloadBar.shown("file") as bar:
            assert bar is None

    def test_without_rich_it_is_a_line(self, monkeypatch):
        monkeypatch.setattr(sys, "stderr", screen := Terminal())
        monkeypatch.setitem(sys.modules, "rich", None)
        with DownloadBar.shown("file") as bar:
            bar.total = 10
            bar.update(4)
        assert screen.getvalue() == "\rfile 4/10 bytes\n"

    def test_a_download_on_a_terminal_names_its_file(self, server, cache, monkeypatch, capsys):
        screen = Terminal()
        monkeypatch.setattr(sys, "stderr", screen)
        # A terminal of a test machine may call itself dumb, and gets no bar then.
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "120")
        locate(FILE)
        assert PATH in screen.getvalue()
        assert capsys.readouterr().out == ""
        assert (cache / PATH).read_bytes() == CONTENT

    def test_bytes_add_up_and_an_end_that_is_not_announced_stays_unknown(self, monkeypatch):
        monkeypatch.setattr(sys, "stderr", Terminal())
        with DownloadBar.shown("file") as bar:
            (task,) = bar._bar._display._bar.tasks
            bar.total = 0
            assert bar.total == 0
            assert task.total is None
            bar.total = 10
            bar.update(4)
            assert (bar.total, task.total, task.completed) == (10, 10, 4)
            bar.reset()
            bar.update(10)
            bar.close()
            assert task.completed == 10
