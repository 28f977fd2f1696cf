"""DepthToSpace and SpaceToDepth."""
from case import case, f32, i8, join, ramp, text


def cases():
    return join(
        case("dcr", "DepthToSpace", [ramp((1, 8, 2, 3))], blocksize=2, mode="DCR"),
        case("crd", "DepthToSpace", [ramp((1, 8, 2, 3))], blocksize=2, mode="CRD"),
        case("default_mode", "DepthToSpace", [i8([[[[0]], [[1]], [[2]], [[3]]]])], blocksize=2),
        case("space_to_depth_dcr", "SpaceToDepth", [ramp((2, 2, 4, 2))], blocksize=2, mode="DCR"),
        case("space_to_depth_crd", "SpaceToDepth", [ramp((2, 2, 4, 2))], blocksize=2, mode="CRD"),
        case("string", "SpaceToDepth", [text([[[["a", "b"], ["c", "d"]]]])], blocksize=2),
        case("empty", "SpaceToDepth", [f32([], (0, 1, 3, 3))], blocksize=3),
    )
