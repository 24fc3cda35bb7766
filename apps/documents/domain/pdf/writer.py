"""Write PDF files with fpdf2: pages, blocks of text, tables and the footer with the page numbers.

fpdf2 only needs packages from PyPI. It splits texts by font, so that a text can have letters of several fonts, orders
right-to-left text, and joins Arabic letters with HarfBuzz. All fonts are embedded, and the text can be extracted.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import cast

from fpdf import FPDF
from fpdf.enums import Align, MethodReturnValue, TableBordersLayout, XPos, YPos
from fpdf.fonts import FontFace

from apps.documents.domain.pdf.fonts import MAIN, MAIN_BOLD

_FONT = "Text"
_MARGIN, _FOOTER_GAP = 18.0, 6.0
_LINE, _SMALL_LINE, _CELL_PADDING = 5.0, 4.0, 1.5
_SIZE, _SMALL = 9.5, 8.0
_GRAY, _BLACK, _SHADE = (95, 95, 95), (0, 0, 0), (240, 240, 240)
_LOGO_WIDTH, _LOGO_HEIGHT = 60.0, 24.0
# The height that a row of a table leaves for the headings and paddings.
_TABLE_GAP = 25.0
# Shorter texts with fewer lines fit on a page even in the narrowest column.
_SHORT, _FEW_LINES = 100, 9


@dataclass(frozen=True, slots=True)
class Column:
    label: str
    width: float
    is_number: bool = True


class PdfWriter:
    """A PDF file of one or more documents. Each document begins on a new page and has its own page numbers."""

    def __init__(self, *, fonts: Iterable[Path], title: str, at: datetime) -> None:
        pdf = self._pdf = FPDF()
        pdf.add_font(_FONT, "", MAIN)
        pdf.add_font(_FONT, "B", MAIN_BOLD)
        for index, path in enumerate(fonts):
            pdf.add_font(f"More{index}", "", path)
        pdf.set_fallback_fonts([name for name in pdf.fonts if name.startswith("more")], exact_match=False)
        pdf.set_text_shaping(use_shaping_engine=True)
        pdf.set_margins(_MARGIN, _MARGIN)
        pdf.set_title(title)
        pdf.set_creator("Backoffice")
        pdf.set_creation_date(at)
        self._footer_lines: list[str] = []
        self._first_page = 0

    def begin_document(self, footer: str, *, page_format: str) -> None:
        self._pdf.add_page(format=page_format)
        self._first_page = self._pdf.page
        self._set_font(size=_SMALL)
        self._footer_lines = self._wrap(footer, self._pdf.epw) if footer else []
        footer_height = _FOOTER_GAP + _SMALL_LINE * (len(self._footer_lines) + 1)
        self._pdf.set_auto_page_break(auto=True, margin=_MARGIN + footer_height)

    def end_document(self, page_label: str) -> None:
        """Write the footer on all pages of the document. ``page_label`` has ``{page}`` and ``{pages}``."""
        pdf, last = self._pdf, self._pdf.page
        pdf.set_auto_page_break(auto=False)
        count = last - self._first_page + 1
        for number in range(1, count + 1):
            pdf.page = self._first_page + number - 1
            # The font must be written to this page again, which fpdf2 only does after a change.
            pdf.set_font(_FONT, "B", _SIZE)
            self._set_font(size=_SMALL, color=_GRAY)
            pdf.set_y(pdf.h - _MARGIN - _SMALL_LINE * (len(self._footer_lines) + 1))
            pdf.set_draw_color(*_GRAY)
            pdf.line(pdf.l_margin, pdf.get_y() - 2, pdf.w - pdf.r_margin, pdf.get_y() - 2)
            for line in self._footer_lines:
                pdf.cell(0, _SMALL_LINE, line, align=Align.L, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
            label = page_label.format(page=number, pages=count)
            pdf.cell(0, _SMALL_LINE, label, align=Align.R, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        pdf.page = last

    def write_head(
        self, logo: bytes | None, sender: Sequence[str], title: str, facts: Sequence[tuple[str, str]]
    ) -> None:
        """Write the logo and sender on the left, and the title with its facts on the right."""
        pdf, top = self._pdf, self._pdf.get_y()
        half = pdf.epw / 2
        if logo is not None:
            info = pdf.image(
                BytesIO(logo), x=pdf.l_margin, y=top, w=_LOGO_WIDTH, h=_LOGO_HEIGHT, keep_aspect_ratio=True
            )
            pdf.set_y(top + min(info.rendered_height, _LOGO_HEIGHT) + 3)
        self._write_lines(sender, half - 5, size=_SMALL)
        left_bottom = pdf.get_y()
        pdf.set_xy(pdf.l_margin + half, top)
        self._set_font("B", size=16)
        pdf.multi_cell(half, 8, title, align=Align.L, new_x=XPos.LEFT, new_y=YPos.NEXT)
        for label, value in facts:
            y = pdf.get_y()
            self._set_font(color=_GRAY)
            pdf.set_xy(pdf.l_margin + half, y)
            pdf.multi_cell(half * 0.42, _LINE, label, align=Align.L, new_x=XPos.RIGHT, new_y=YPos.NEXT)
            label_bottom = pdf.get_y()
            pdf.set_xy(pdf.get_x(), y)
            self._set_font()
            pdf.multi_cell(half * 0.58, _LINE, value, align=Align.L, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
            pdf.set_y(max(label_bottom, pdf.get_y()))
        pdf.set_y(max(left_bottom, pdf.get_y()) + 8)

    def write_blocks(self, blocks: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Write up to two blocks with headings next to each other, such as addresses."""
        pdf, top = self._pdf, self._pdf.get_y()
        half, bottom = pdf.epw / 2, top
        for index, (heading, lines) in enumerate(blocks):
            pdf.set_xy(pdf.l_margin + half * index, top)
            self._set_font(size=_SMALL, color=_GRAY)
            pdf.cell(half, _LINE, heading, new_x=XPos.LEFT, new_y=YPos.NEXT)
            self._write_lines(lines, half - 5)
            bottom = max(bottom, pdf.get_y())
        pdf.set_y(bottom + 8)

    def _write_lines(self, lines: Sequence[str], width: float, *, size: float = _SIZE) -> None:
        self._set_font(size=size)
        for line in lines:
            self._pdf.multi_cell(width, _LINE, line, align=Align.L, new_x=XPos.LEFT, new_y=YPos.NEXT)

    def write_table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
        """Write a table over the whole width. The headings are repeated on each page."""
        self._set_font()
        rows = [part for row in rows for part in self._split_row(columns, row)]
        heading = FontFace(emphasis="BOLD", color=_BLACK, fill_color=_SHADE, size_pt=_SMALL)
        with self._pdf.table(
            borders_layout=TableBordersLayout.SINGLE_TOP_LINE,
            col_widths=tuple(column.width for column in columns),
            headings_style=heading,
            line_height=_LINE,
            padding=(1.2, _CELL_PADDING),
            text_align=tuple(Align.R if column.is_number else Align.L for column in columns),
            v_align="T",
        ) as table:
            table.row([column.label for column in columns])
            for row in rows:
                table.row(row)
        self._pdf.ln(3)

    def _split_row(self, columns: Sequence[Column], row: Sequence[str]) -> Iterator[Sequence[str]]:
        """Yield the rows that show a row, because fpdf2 does not break a row that is taller than a page."""
        if not any(len(text) > _SHORT or text.count("\n") > _FEW_LINES for text in row):
            yield row
            return
        pdf, widths = self._pdf, sum(column.width for column in columns)
        count = int((pdf.page_break_trigger - pdf.t_margin - _TABLE_GAP) / _LINE)
        cells = [
            self._wrap(text, pdf.epw * column.width / widths - 2 * _CELL_PADDING)
            for text, column in zip(row, columns, strict=True)
        ]
        if max(map(len, cells)) <= count:
            yield row
            return
        for first in range(0, max(map(len, cells)), count):
            yield ["\n".join(lines[first : first + count]) for lines in cells]

    def _wrap(self, text: str, width: float) -> list[str]:
        """Return the lines of a text in the current font."""
        lines = self._pdf.multi_cell(
            width, text=text, align=Align.L, padding=0, dry_run=True, output=MethodReturnValue.LINES
        )
        return cast("list[str]", lines)

    def write_sums(self, sums: Sequence[tuple[str, str]], *, emphasized: int) -> None:
        """Write amounts with labels at the right edge. The row with the index ``emphasized`` is bold."""
        pdf = self._pdf
        label_width, width = 58.0, 36.0
        for index, (label, amount) in enumerate(sums):
            self._set_font("B" if index == emphasized else "")
            height = (_LINE + 0.6) * max(len(self._wrap(label, label_width)), 1)
            if pdf.will_page_break(height + _LINE):
                pdf.add_page(same=True)
            top = pdf.get_y()
            pdf.set_x(pdf.w - pdf.r_margin - label_width - width)
            pdf.multi_cell(label_width, _LINE + 0.6, label, align=Align.L, new_x=XPos.RIGHT, new_y=YPos.TOP)
            pdf.cell(width, _LINE + 0.6, amount, align=Align.R)
            pdf.set_y(top + height)
        pdf.ln(4)

    def write_text(self, text: str, *, is_heading: bool = False) -> None:
        self._set_font("B" if is_heading else "")
        self._pdf.multi_cell(0, _LINE, text, align=Align.L, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        self._pdf.ln(1.5)

    def _set_font(self, style: str = "", *, size: float = _SIZE, color: tuple[int, int, int] = _BLACK) -> None:
        self._pdf.set_font(_FONT, style, size)
        self._pdf.set_text_color(*color)

    def get_bytes(self) -> bytes:
        return bytes(self._pdf.output())
