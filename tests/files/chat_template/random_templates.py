"""Random templates with what Jinja makes of them, a JSON line each. Usage: random_templates.py SEED COUNT"""
import json
import random
import sys
import warnings

try:
    from environment import render
except ImportError:
    sys.exit(77)  # no Jinja here

MESSAGES = [
    [{"role": "system", "content": "You are  Bob.\n"}, {"role": "user", "content": " Hi <there> & \"you\" "}, {"role": "assistant", "content": "Grüß Gott, straße ǰ"}],
    [{"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image"}]}, {"role": "assistant", "content": None, "tool_calls": [
        {"type": "function", "function": {"name": "f", "arguments": {"x": 1, "y": [1.5, True, None], "z": {}}}}]}],
    [],
]
NAMES = ["messages", "bos_token", "n", "x", "flag", "d", "words", "nothing", "missing", "num"]
TEXTS = ["''", "'a'", "' A b\\n'", "'role'", "'user'", "'x,y,,z'", "'12'", "' 3.5 '", "'ÄÖ ß'", "\"it's\"", "'%s-%d'", "'content'", "'\\u00e9\\t'", "'a.b'", "'1_0'"]
NUMBERS = ["0", "1", "2", "-1", "3", "10", "1.5", "0.1", "2.0", "1e3", "7", "100"]


class Maker:
    def __init__(self, draw):
        self.draw = draw
        self.names = list(NAMES)
        self.loops = 0
        self.macros = []

    def pick(self, *choices):
        return self.draw.choice(choices)

    def atom(self):
        kind = self.draw.random()
        if kind < 0.35:
            return self.draw.choice(self.names)
        if kind < 0.6:
            return self.draw.choice(TEXTS)
        if kind < 0.8:
            return self.draw.choice(NUMBERS)
        if kind < 0.9:
            return self.pick("true", "false", "none", "True", "None", "[]", "{}", "()", "(1,)")
        if self.loops and kind < 0.97:
            return "loop." + self.pick("index", "index0", "first", "last", "length", "revindex", "revindex0", "previtem", "nextitem", "depth", "foo")
        return self.pick("range(3)", "range(1, 8, 3)", "range(5, 0, -2)", "namespace(a=1).a", "dict(a=1, b='c')", "messages[0]", "messages[0].content", "messages[-1]['role']")

    def expr(self, depth):
        if depth <= 0:
            return self.atom()
        e = lambda: self.expr(depth - 1)
        kind = self.draw.randrange(20)
        if kind < 2:
            return self.atom()
        if kind == 2:
            return f"{e()} {self.pick('+', '-', '*', '/', '//', '%', '~', '~', '~', '+')} {e()}" if self.draw.random() < 0.95 else f"{self.atom()} ** {self.pick('2', '3', '0', '-1', '0.5')}"
        if kind == 3:
            return f"{e()} {self.pick('==', '!=', '<', '<=', '>', '>=', 'in', 'not in', 'and', 'or', 'and', 'or')} {e()}"
        if kind == 4:
            return f"{self.pick('not ', '-', '+', 'not ')}{e()}"
        if kind == 5:
            return f"({e()} if {e()}" + (f" else {e()})" if self.draw.random() < 0.8 else ")")
        if kind == 6:
            return f"{e()} is {self.pick('', 'not ')}" + self.pick(
                "defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "mapping", "sequence", "iterable", "true", "false", "odd", "even",
                "lower", "upper", "divisibleby(2)", "divisibleby 3", "equalto('a')", "eq 1", "in ['a', 1]", "sameas none", "gt 1", "callable", "escaped", "ne(2)", "lt 5")
        if kind == 7:
            if self.draw.random() < 0.5:  # of constants Jinja makes other slices than of variables
                return f"{self.pick('messages', 'words', 'x', 'messages[0].content', 'bos_token', 'd')}[{self.pick('1:', ':1', '::-1', '1:3', '-2:', '::2', '-1:0:-1', e() + ':' + e())}]"
            return f"{self.postfix(e())}[{self.pick('0', '1', '-1', e(), e())}]"
        if kind == 8:
            return f"{self.postfix(e())}.{self.pick('role', 'content', 'a', 'tool_calls', 'items', 'x', '0', 'foo')}"
        if kind == 9:
            return "[" + ", ".join(e() for _ in range(self.draw.randrange(4))) + "]"
        if kind == 10:
            return "{" + ", ".join(f"{self.pick(repr('a'), repr('b'), '1', e())}: {e()}" for _ in range(self.draw.randrange(3))) + "}"
        if kind == 11:
            return f"({e()}, {e()})"
        if kind < 16:
            return f"{self.postfix(e())} | {self.filter(depth)}"
        if kind < 19:
            return f"{self.postfix(e())}.{self.method(depth)}"
        if self.macros:
            return f"{self.draw.choice(self.macros)}({self.pick('', e(), e() + ', ' + e(), 'b=' + e(), e() + ', b=' + e())})"
        return f"({e()})"

    def postfix(self, text):
        return text if text.replace("_", "").isalnum() and not text.isdigit() else f"({text})"

    def filter(self, depth):
        e = lambda: self.expr(depth - 2)
        return self.pick(
            "trim", "trim", "upper", "lower", "title", "capitalize", "length", "count", "list", "string", "int", "float", "abs", "first", "last", "list", "tojson", "tojson",
            "tojson(indent=2)", "tojson(indent=4)", "tojson(ensure_ascii=True)", "tojson(separators=(',', ':'))", "tojson(sort_keys=true)", f"default({e()})", f"default({e()}, true)", "d('x', boolean=True)",
            "join", "join(', ')", f"join({e()})", "join(', ', attribute='role')", "map('upper') | list", "map(attribute='role') | list", "map('length') | join(' ')", "map(attribute='content', default='-') | list",
            "select | list", "reject | list", "select('string') | list", "select('gt', 1) | list", "selectattr('role', 'equalto', 'user') | list", "rejectattr('role', 'eq', 'user') | list", "selectattr('content') | list",
            "sort", "sort(reverse=true)", "sort(attribute='role')", "sort(case_sensitive=true)", "unique | list", "reverse | list", "items | list", "dictsort", "dictsort(by='value')", "dictsort(reverse=true)",
            "min", "max", "sum", "min(attribute='role')", "replace('a', 'b')", f"replace({e()}, {e()})", "replace('a', 'b', 1)", "indent", "indent(2, true)", "indent(3, blank=True)", "indent('> ')", "escape", "e", "safe", "round",
            "round(1)", "round(1, 'floor')", "round(method='ceil')", "wordcount", "truncate(5)", "truncate(6, true)", "truncate(7, false, '..', 0)", "center(9)", "format(1, 2)", "format('a')", "batch(2) | list", "groupby('role')", "urlencode", "forceescape",
            "int(5)", "float(2.5)", "string | length", "list | first", "map('int') | sum", "attr('role')")

    def method(self, depth):
        e = lambda: self.expr(depth - 2)
        return self.pick(
            "strip()", "lstrip()", "rstrip()", "strip('a ')", f"strip({e()})", "split()", "split(',')", "split(',', 1)", "rsplit(' ', 1)", f"split({e()})", "split(none, 1)", "splitlines()", "splitlines(true)", "startswith('a')", f"endswith({e()})",
            "startswith(('a', ' '))", "replace('a', 'b')", "replace('', '-')", "replace('a', 'b', 1)", "upper()", "lower()", "title()", "capitalize()", "swapcase()", "find('b')", "rfind('b')", "index('b')", "count('a')", "join(['a', 'b'])", f"join({e()})",
            "isdigit()", "isalpha()", "isspace()", "isupper()", "islower()", "istitle()", "zfill(5)", "ljust(6)", "rjust(6, '*')", "center(7, '-')", "removeprefix('a')", "removesuffix('b')", "partition(',')", "rpartition(' ')", "format(1, b=2)", "items()", "keys()", "values()", "get('a')", "get('role', 'zz')",
            f"get({e()})", "items() | list", "keys() | list", "values() | list", "count(1)", "index('a')", "append(1)", "copy()", "startswith('b', 1)", "find('a', 1, 3)", "rsplit(',', 1)[0]", "foo()", "pop()")

    def tag(self, text):
        a = self.pick("", "", "", "-", "+") if self.draw.random() < 0.6 else ""
        b = self.pick("", "", "", "-", "+") if self.draw.random() < 0.6 else ""
        return "{%" + a + " " + text + " " + b + "%}"

    def text(self):
        return self.pick("", "", "a", " ", "\n", "  \n", "\n  ", " b \n", "<|x|>\n\n", "\t", "{", "}", " % ", "# ", "{# note #}", "{#- note -#}\n", "é\r\n", "{% raw %}{{ x }}{% endraw %}", "  {% raw -%} {% x %} {%- endraw %}\n")

    def body(self, depth):
        return self.text() + "".join(self.statement(depth) + self.text() for _ in range(self.draw.randrange(1, 4)))

    def statement(self, depth):
        kind = self.draw.randrange(16)
        if depth <= 0 or kind < 5:
            a, b = ("-" if self.draw.random() < 0.15 else "" for _ in range(2))
            return "{{" + a + " " + self.expr(2) + " " + b + "}}"
        if kind < 7:
            name = self.pick("x", "y", "z", "n", "messages", "x")
            made = self.tag(f"set {name} = {self.expr(2)}")
            self.names.append(name)
            return made
        if kind == 7:
            made = self.tag(f"if {self.expr(2)}") + self.body(depth - 1)
            if self.draw.random() < 0.3:
                made += self.tag(f"elif {self.expr(1)}") + self.body(depth - 1)
            if self.draw.random() < 0.5:
                made += self.tag("else") + self.body(depth - 1)
            return made + self.tag("endif")
        if kind < 11:
            target = self.pick("m", "m", "m", "k, v", "x")
            source = self.pick("messages", "messages", "words", "range(3)", "d", "d.items()", self.expr(1), "'abc'")
            test = f" if {self.expr(1)}" if self.draw.random() < 0.2 else ""
            head = self.tag(f"for {target} in {source}{test}")
            names = list(self.names)
            self.names += target.split(", ")
            self.loops += 1
            inner = self.body(depth - 1)
            if self.draw.random() < 0.2:
                inner += self.tag(f"if {self.expr(1)}") + self.tag(self.pick("break", "continue")) + self.tag("endif")
            self.loops -= 1
            self.names = names
            if self.draw.random() < 0.2:
                inner += self.tag("else") + self.body(depth - 1)
            return head + inner + self.tag("endfor")
        if kind == 11:
            name = self.pick("ns", "ns2")
            made = self.tag(f"set {name} = namespace(a={self.expr(1)}, b=0)") + self.tag(f"set {name}.a = {self.expr(1)}") + "{{ " + name + ".a }}"
            self.names.append(name + ".a")
            return made
        if kind == 12:
            name = self.pick("f", "g")
            names, loops = list(self.names), self.loops
            self.names += ["a", "b"]
            self.loops = 0
            made = self.tag(f"macro {name}(a, b={self.expr(1)})") + self.body(depth - 1) + self.pick("", "{{ caller() if caller }}", "{{ varargs }}", "{{ kwargs }}") + self.tag("endmacro")
            self.names, self.loops = names, loops
            self.macros.append(name)
            return made
        if kind == 13:
            name = self.pick("y", "z")
            made = self.tag(f"set {name}" + self.pick("", " | trim", " | upper | length")) + self.body(depth - 1) + self.tag("endset")
            self.names.append(name)
            return made
        if kind == 14:
            what = self.pick("generation", "filter upper", "filter trim", "with w = 1, x = n", "filter replace('a', 'b') | length")
            return self.tag(what) + self.body(depth - 1) + self.tag("end" + what.split()[0])
        if self.macros:
            return self.tag(f"call {self.draw.choice(self.macros)}({self.pick('', '1', 'n')})") + self.body(depth - 1) + self.tag("endcall")
        return "{{ " + self.expr(3) + " }}"


warnings.simplefilter("ignore")


def main():
    draw = random.Random(int(sys.argv[1]))
    left = int(sys.argv[2])
    while left > 0:
        maker = Maker(draw)
        source = maker.body(draw.randrange(1, 4))
        variables = {"messages": draw.choice(MESSAGES), "bos_token": "<s>", "n": draw.choice([0, 3, -2]), "x": draw.choice(["a b", 1.25, [1, 2], None]), "flag": True,
                     "d": {"a": 1, "b": "two", "items": [3], "é": None}, "words": ["b", "A", "a", "C"], "nothing": None, "num": 2.5}
        expected = render(source, variables)
        # Addresses, and names that only Python has.
        if expected is None and draw.random() < 0.9:
            continue  # most of them fail
        if expected is not None and (" object at 0x" in expected or "<function" in expected or "<bound" in expected or "<built-in" in expected or "<Macro" in expected):
            continue
        print(json.dumps({"template": source, "variables": variables, "expected": expected}))
        left -= 1


main()
