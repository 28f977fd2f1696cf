"""The page that scripts/gpu_report writes: a table of the parts and what each found."""
import datetime
import os
import textwrap


class Section:
    """What one part found. result: a few words for the table at the top."""

    def __init__(self, page, title):
        self._page, self._lines = page, []
        self.title, self.result, self.seconds = title, "under way", 0
        self._in_table = False

    @property
    def lines(self):
        return self._lines

    def say(self, text):
        self._lines += ["", *textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)]
        self._in_table = False
        self._page.write()

    def row(self, *cells):
        """A row of a table; the first one of a table is its head."""
        row = "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
        self._lines += [row] if self._in_table else ["", row, "|" + "---|" * len(cells)]
        self._in_table = True
        self._page.write()


class Page:
    def __init__(self, file, emulated):
        self.file, self.emulated = file, emulated
        self.sections = []
        self.date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")

    def section(self, title):
        self.sections.append(Section(self, title))
        return self.sections[-1]

    def text(self):
        if self.emulated:
            head = ["# Rehearsal on the emulated device", "",
                    f"Written by `scripts/gpu_report run --emulated` on {self.date}. No figure here is a GPU's."]
        else:
            head = ["# The CUDA provider on a GPU", "",
                    f"Written by `scripts/gpu_report run` on {self.date}; measured on the machine named below."]
        parts = ["", "| part | result | seconds |", "|---|---|---|"]
        parts += [f"| {each.title} | {each.result} | {each.seconds:.0f} |" for each in self.sections]
        body = [line for each in self.sections for line in ("", f"## {each.title}", *each.lines)]
        return "\n".join(head + parts + body) + "\n"

    def write(self):
        scratch = self.file.with_name(self.file.name + ".new")
        scratch.write_text(self.text())
        os.replace(scratch, self.file)
