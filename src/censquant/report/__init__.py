"""Reports on a model and its data: one HTML file with figures, tables and the model itself."""

from censquant.report._facts import ReportFacts, report_facts
from censquant.report._write import WrittenReport, write_report

__all__ = [
    "ReportFacts",
    "WrittenReport",
    "report_facts",
    "write_report",
]
