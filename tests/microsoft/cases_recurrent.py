"""Cases of graph/microsoft/recurrent.cc."""
import numpy as np
from make_cases import Case


def cases():
    rng = np.random.default_rng(11)
    length, batch, width, hidden = 4, 2, 3, 5

    def numbers(*dims):
        return rng.standard_normal(dims).astype(np.float32)

    def case(name, directions=1, dtype=np.int8, columns=False, attributes="", optional=(), outputs="y, h, c"):
        info = np.iinfo(dtype)
        per = (directions, 4 * hidden) if columns else (directions,)
        values = {"x": numbers(length, batch, width),
                  "w": rng.integers(info.min, info.max + 1, (directions, width, 4 * hidden)).astype(dtype),
                  "r": rng.integers(info.min, info.max + 1, (directions, hidden, 4 * hidden)).astype(dtype),
                  "ws": (rng.random(per) * .004 + .004).astype(np.float32),
                  "wz": np.full(per, 0 if dtype == np.int8 else 128, dtype),
                  "rs": (rng.random(per) * .004 + .004).astype(np.float32),
                  "rz": np.full(per, 0 if dtype == np.int8 else 128, dtype)}
        rest = {"b": numbers(directions, 8 * hidden), "n": np.array([4, 2], np.int32),
                "ih": numbers(directions, batch, hidden), "ic": numbers(directions, batch, hidden),
                "p": numbers(directions, 3 * hidden)}
        given = {key: rest[key] for key in optional}
        names = ["x", "w", "r"] + [key if key in given else "" for key in rest] + ["ws", "wz", "rs", "rz"]
        if directions == 2:
            attributes += ', direction: string = "bidirectional"'
        call = (f"{outputs} = com.microsoft.DynamicQuantizeLSTM <hidden_size: int = {hidden}{attributes}> "
                f"({', '.join(names)})")
        return Case("lstm" + name, call, {**values, **given}, [o for o in outputs.split(", ") if o],
                    constants=("w", "r", "ws", "wz", "rs", "rz"))

    yield case("")
    yield case("_bias", optional=("b",))
    yield case("_unsigned", dtype=np.uint8, optional=("b",))
    yield case("_columns", columns=True, optional=("b",))
    yield case("_states", optional=("b", "ih", "ic"))
    yield case("_peepholes", optional=("b", "p"))
    yield case("_reverse", attributes=', direction: string = "reverse"', optional=("b",))
    yield case("_both", directions=2, optional=("b", "ih", "ic"))
    yield case("_lengths", optional=("b", "n"))
    yield case("_lengths_reverse", attributes=', direction: string = "reverse"', optional=("b", "n"))
    yield case("_clip", attributes=", clip: float = 0.5", optional=("b",))
    yield case("_input_forget", attributes=", input_forget: int = 1", optional=("b",))
    yield case("_relu", attributes=', activations: strings = ["Sigmoid", "Relu", "Tanh"]', optional=("b",))
    yield case("_last", outputs=", h, c", optional=("b",))
