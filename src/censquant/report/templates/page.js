// Tables that are sorted by their headings and downloaded as CSV.
"use strict";
(() => {
  const value = (cell) => {
    const raw = cell.dataset.value;
    if (!cell.classList.contains("number")) return raw;
    if (raw === "") return NaN;
    return raw === "inf" ? Infinity : Number(raw);
  };

  // Cells without a value come last, whichever way the others are sorted.
  const compare = (a, b, way) => {
    const lacks = (x) => x === "" || Number.isNaN(x);
    if (lacks(a) || lacks(b)) return lacks(a) - lacks(b);
    if (typeof a === "number" && typeof b === "number") return a === b ? 0 : way * (a < b ? -1 : 1);
    return way * String(a).localeCompare(String(b), undefined, { numeric: true });
  };

  const sort = (table, column, way) => {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => [value(row.cells[column]), row]);
    rows.sort(([a], [b]) => compare(a, b, way));
    rows.forEach(([, row]) => body.append(row));
    Array.from(table.tHead.rows[0].cells).forEach((cell, place) => {
      if (place === column) cell.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    });
  };

  const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  const csv = (table) => [
    Array.from(table.tHead.rows[0].cells, (cell) => quoted(cell.textContent)),
    ...Array.from(table.tBodies[0].rows, (row) =>
      Array.from(row.cells, (cell) => quoted(cell.dataset.value))),
  ].map((line) => line.join(",")).join("\r\n") + "\r\n";

  const download = (name, text) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  };

  for (const part of document.querySelectorAll(".table")) {
    const table = part.querySelector("table");
    Array.from(table.tHead.rows[0].cells).forEach((cell, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = cell.textContent;
      button.addEventListener("click", () =>
        sort(table, column, cell.getAttribute("aria-sort") === "ascending" ? -1 : 1));
      cell.replaceChildren(button);
    });
    const button = document.createElement("button");
    button.type = "button";
    button.className = "plain";
    button.textContent = "Download as CSV";
    button.setAttribute("aria-label", `Download as CSV: ${table.caption.textContent}`);
    button.addEventListener("click", () => download(part.dataset.file, csv(table)));
    part.append(button);
  }
})();
