"""Jinja as transformers sets it for chat templates, which is the truth of our reader."""
import datetime
import json

import jinja2
import jinja2.ext
import jinja2.sandbox


class Generation(jinja2.ext.Extension):
    """{% generation %}: what a model is to learn; it changes no text."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("render"), [], [], body).set_lineno(line)

    def render(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    made = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = lambda form: datetime.datetime(2026, 11, 3, 14, 5, 9).strftime(form)
    return made


def render(source, variables):
    """The text, or None where the template or its run fails."""
    try:
        return environment().from_string(source).render(**variables)
    except Exception:  # whatever Python raises, the template fails
        return None
