"""Two published models in the format of amplitude-serialization, restated as tables, with the checksums of their authors.

Λc⁺ → p K⁻ π⁺ of LHCb (record 2683025) and X⁻ → π⁻π⁺π⁻ of COMPASS (record 1391643).
"""

# Λc⁺ → p K⁻ π⁺: lineshape, helicities of the first vertex, weight
LHCB_CHAINS = {
    ("L1405_Flatte", "1/2", "0|1/2", "+", "", ""): [
        ("1/2|0", 7.38649400481717, 1.971018433257411),
        ("-1/2|0", -3.2332358574805515, 2.2557724553615772),
    ],
    ("L1520_BW", "3/2", "0|1/2", "-", "b1", "r2"): [
        ("-1/2|0", 3.605175244894445, 0.5435267843818713),
        ("1/2|0", -1.9704378756874323, 18.379565942050206),
    ],
    ("L1600_BW", "1/2", "0|1/2", "-", "", "r1"): [
        ("1/2|0", 10.062771632071723, -1.2160303664881582),
        ("-1/2|0", -6.987335732146143, -4.449911731331869),
    ],
    ("L1670_BW", "1/2", "0|1/2", "+", "", ""): [
        ("-1/2|0", -0.24012285628923374, -0.10230279488850731),
        ("1/2|0", -0.40374241570833247, 0.7154739757283278),
    ],
    ("L1690_BW", "3/2", "0|1/2", "-", "b1", "r2"): [
        ("-1/2|0", -1.5899154261176556, -0.4543210160355851),
        ("1/2|0", -11.25382439169629, -1.4573757648967332),
    ],
    ("L2000_BW", "1/2", "0|1/2", "+", "", ""): [
        ("1/2|0", -3.0661953154540726, -2.684313105886122),
        ("-1/2|0", -5.667359734940468, -5.38391527459506),
    ],
    ("D1232_BW", "3/2", "1/2|0", "+", "b1", "r1"): [
        ("-1/2|0", -10.91657692017265, 4.915067165836356),
        ("1/2|0", -20.916449737345527, 7.29308576054982),
    ],
    ("D1600_BW", "3/2", "1/2|0", "+", "b1", "r1"): [
        ("-1/2|0", 10.394484212696474, -2.8494349466419946),
        ("1/2|0", 6.134820509903093, -0.9138426164937006),
    ],
    ("D1700_BW", "3/2", "1/2|0", "-", "b1", "r2"): [
        ("-1/2|0", -29.25264941105087, -4.044389587266232),
        ("1/2|0", -36.28747656529877, -5.93484672030687),
    ],
    ("K700_BuggBW", "0", "0|0", "+", "", ""): [
        ("0|1/2", 0.068908, 2.521444),
        ("0|-1/2", -2.68563, 0.03849),
    ],
    ("K892_BW", "1", "0|0", "+", "", "r1"): [
        ("-1|-1/2", 1.7222349176997693, -1.481361689419436),
        ("0|1/2", -1.0500585346397064, -6.000208435743097),
        ("0|-1/2", 1.4440841024000803, 0.0),
        ("1|1/2", -4.536512227148323, -4.755961023685448),
    ],
    ("K1430_BuggBW", "0", "0|0", "+", "", ""): [
        ("0|1/2", -6.71516, 10.479411),
        ("0|-1/2", 0.219754, 8.741196),
    ],
}
# mass, width, l, masses of the daughters
LHCB_SHAPES = {
    "L1690_BW": (1.69, 0.07, 2, 0.493677, 0.938272046),
    "D1232_BW": (1.232, 0.117, 1, 0.938272046, 0.13957018),
    "L1520_BW": (1.518467, 0.015195, 2, 0.493677, 0.938272046),
    "L1600_BW": (1.63, 0.25, 1, 0.493677, 0.938272046),
    "L2000_BW": (1.98819, 0.17926, 0, 0.493677, 0.938272046),
    "D1600_BW": (1.64, 0.3, 1, 0.938272046, 0.13957018),
    "D1700_BW": (1.69, 0.38, 2, 0.938272046, 0.13957018),
    "K892_BW": (0.8955, 0.047299999999999995, 1, 0.13957018, 0.493677),
    "L1670_BW": (1.67, 0.03, 0, 0.493677, 0.938272046),
}
# mass, width and slope of scalars whose width has an Adler zero
LHCB_SCALARS = {"K700_BuggBW": (0.824, 0.478, 0.941060), "K1430_BuggBW": (1.375, 0.190, 0.020981)}
LHCB_POINT = (1.9101377207489973, -0.2309352648098208)  # m(K p) and cos θ of K
LHCB_SUMS = {
    "default_model": 9345.853380852355,
    "L1405_Flatte": (-0.7480602620708737 + 0.22521439829964163j),
    "L1690_BW": (-1.856393035564509 + 1.3970917949874666j),
    "D1232_BW": (-0.37559145211964445 + 0.2867197317591275j),
    "L1520_BW": (-0.6519026717262323 + 0.5513711741076602j),
    "L1600_BW": (-0.5711605382444855 + 0.8517294114907099j),
    "L2000_BW": (1.1399027771220511 + 0.46329136172829j),
    "D1600_BW": (-0.7542612203250671 + 0.953349114487552j),
    "D1700_BW": (-0.32420527030886465 + 0.9152170090261661j),
    "K892_BW": (-1.6160420072107298 + 0.30076446839110044j),
    "L1670_BW": (-2.383989898030206 + 0.34006358781864954j),
}

# X⁻ → π⁻π⁺π⁻: name → spin of X, and lineshape, its two pions, L and S of the first vertex, L of the second, weight
COMPASS_CHAINS = {
    "compass_3pi_JP=1+_M=0_1540_1560": (
        "1",
        [
            ("R(768)", [2, 3], "0", "1", "1", -0.12012506941576646, -0.0),
            ("R(768)", [1, 2], "0", "1", "1", 0.12012506941576646, 0.0),
            ("R(768)", [2, 3], "2", "1", "1", 0.011929004311473054, 0.03779700129642433),
            ("R(768)", [1, 2], "2", "1", "1", -0.011929004311473054, -0.03779700129642433),
            ("R(600)", [2, 3], "1", "0", "0", 0.24367979070784807, -0.33431568424813957),
            ("R(600)", [1, 2], "1", "0", "0", 0.24367979070784807, -0.33431568424813957),
            ("R(1274)", [2, 3], "1", "2", "2", 0.040206820545245714, 0.0745609331830681),
            ("R(1274)", [1, 2], "1", "2", "2", 0.040206820545245714, 0.0745609331830681),
            ("R(1274)", [2, 3], "3", "2", "2", 0.10361071290652465, 0.16432602844516),
            ("R(1274)", [1, 2], "3", "2", "2", 0.10361071290652465, 0.16432602844516),
            ("R(965)", [2, 3], "1", "0", "0", 0.03765739909148283, 0.04895293718480279),
            ("R(965)", [1, 2], "1", "0", "0", 0.03765739909148283, 0.04895293718480279),
            ("R(1690)", [2, 3], "2", "3", "3", 0.37222294733308686, -0.3798993880573993),
            ("R(1690)", [1, 2], "2", "3", "3", -0.37222294733308686, 0.3798993880573993),
            ("R(1690)", [2, 3], "4", "3", "3", 1.0800157835887783, -0.30439088941106834),
            ("R(1690)", [1, 2], "4", "3", "3", -1.0800157835887783, 0.30439088941106834),
        ],
    ),
    "compass_3pi_JP=1-_M=1_1540_1560": (
        "1",
        [
            ("R(768)", [2, 3], "1", "1", "1", -0.0036159432575573903, 0.04180024616911908),
            ("R(768)", [1, 2], "1", "1", "1", 0.0036159432575573903, -0.04180024616911908),
        ],
    ),
    "compass_3pi_JP=2+_M=1_1540_1560": (
        "2",
        [
            ("R(768)", [2, 3], "2", "1", "1", -0.013238440295890615, -0.03963789080047194),
            ("R(768)", [1, 2], "2", "1", "1", 0.013238440295890615, 0.03963789080047194),
            ("R(1274)", [2, 3], "1", "2", "2", -0.02736543032431113, 0.06514127348735166),
            ("R(1274)", [1, 2], "1", "2", "2", -0.02736543032431113, 0.06514127348735166),
            ("R(1690)", [2, 3], "2", "3", "3", 0.0006471559622718511, -0.007132895746526825),
            ("R(1690)", [1, 2], "2", "3", "3", -0.0006471559622718511, 0.007132895746526825),
        ],
    ),
    "compass_3pi_JP=4+_M=1_1540_1560": (
        "4",
        [
            ("R(768)", [2, 3], "4", "1", "1", -0.007988654701171487, 0.10591435520241442),
            ("R(768)", [1, 2], "4", "1", "1", 0.007988654701171487, -0.10591435520241442),
            ("R(1274)", [2, 3], "3", "2", "2", 0.022946554010159825, -0.07691032308370654),
            ("R(1274)", [1, 2], "3", "2", "2", 0.022946554010159825, -0.07691032308370654),
        ],
    ),
}
COMPASS_POINTS = {  # m(π π) and cos θ
    "validation_point1": (0.5187067892828369, -0.40000000000000013),
    "validation_point2": (0.8604783240386694, 0.7692574254771216),
    "validation_point3": (1.2047645511262774, -0.5577601618235116),
    "validation_point4": (0.7944181429023822, -0.6113011797354894),
}
COMPASS_SUMS = [
    ("compass_3pi_JP=1+_M=0_1540_1560", "validation_point1", 0.5577534160876009),
    ("compass_3pi_JP=1+_M=0_1540_1560", "validation_point2", 1.4362517688083714),
    ("compass_3pi_JP=1+_M=0_1540_1560", "validation_point3", 0.10839511496082062),
    ("compass_3pi_JP=1+_M=0_1540_1560", "validation_point4", 0.7918469396704406),
    ("compass_3pi_JP=1-_M=1_1540_1560", "validation_point1", 0.04520470089209502),
    ("compass_3pi_JP=1-_M=1_1540_1560", "validation_point2", 0.010651044852509003),
    ("compass_3pi_JP=1-_M=1_1540_1560", "validation_point3", 0.018570000187847224),
    ("compass_3pi_JP=1-_M=1_1540_1560", "validation_point4", 0.09008391448056484),
    ("compass_3pi_JP=2+_M=1_1540_1560", "validation_point1", 0.017082207406880687),
    ("compass_3pi_JP=2+_M=1_1540_1560", "validation_point2", 0.05795348482449213),
    ("compass_3pi_JP=2+_M=1_1540_1560", "validation_point3", 0.035383990163769655),
    ("compass_3pi_JP=2+_M=1_1540_1560", "validation_point4", 0.11221797349272672),
    ("compass_3pi_JP=4+_M=1_1540_1560", "validation_point1", 0.02055583049817933),
    ("compass_3pi_JP=4+_M=1_1540_1560", "validation_point2", 0.011818378516716903),
    ("compass_3pi_JP=4+_M=1_1540_1560", "validation_point3", 0.01755042894196321),
    ("compass_3pi_JP=4+_M=1_1540_1560", "validation_point4", 0.1058334409901948),
    ("R(1274)", "validation_point_m12sq", (1.682682255119889 + 0.62086927105196j)),
    ("R(1690)", "validation_point_m12sq", (0.5643082293246228 + 0.10318283266108788j)),
    ("R(600)", "validation_point_m12sq", (0.10172436035046228 + 1.0273440332286132j)),
    ("R(768)", "validation_point_m12sq", (-1.7321826562432676 + 0.6323990884902008j)),
    ("R(965)", "validation_point_m12sq", (-0.9212576583634395 + 2.1470398931994485j)),
]

M_P, M_PI, M_K, M_LC = 0.938272046, 0.13957018, 0.493677, 2.28646
M_PION, M_X = 0.13956755, 1.55
SYSTEM = {"L": [3, 1], "D": [1, 2], "K": [2, 3]}  # by the first letter of the lineshape
OTHER = {(3, 1): 2, (1, 2): 3, (2, 3): 1}


def weight(re, im):
    return f"{re!r} {'-' if im < 0 else '+'} {abs(im)!r}i"


def state(index, name, spin, mass):
    return {"index": index, "name": name, "spin": spin, "mass": mass}


def variables(pair):
    text = "".join(map(str, pair))
    return [
        {"node": pair, "mass_phi_costheta": ["m", "phi", "z"]},
        {"node": [pair, OTHER[tuple(pair)]], "mass_phi_costheta": ["M", "Phi", f"Z_{text}"]},
    ]


def point(name, pair, parent, mass, z):
    values = {"M": parent, "Phi": 0.0, f"Z_{''.join(map(str, pair))}": 0.0, "m": mass, "phi": 0.0, "z": z}
    return {"name": name, "parameters": [{"name": key, "value": value} for key, value in values.items()]}


def lhcb():
    """The model of LHCb as the content of a file."""
    chains = []
    for (name, spin, inner, sign, top_factor, inner_factor), weights in LHCB_CHAINS.items():
        pair = SYSTEM[name[0]]
        whole = [pair, OTHER[tuple(pair)]]
        for helicities, re, im in weights:
            top = {"type": "helicity", "helicities": helicities.split("|"), "node": whole, "formfactor": top_factor}
            decay = {"type": "parity", "helicities": inner.split("|"), "parity_factor": sign, "node": pair, "formfactor": inner_factor}
            propagator = {"spin": spin, "node": pair, "parametrization": name}
            chains.append(
                {"name": name, "topology": whole, "weight": weight(re, im), "vertices": [decay, top], "propagators": [propagator]}
            )
    functions = [
        {"name": name, "type": "BreitWigner", "mass": m, "width": g, "l": l, "ma": ma, "mb": mb, "d": 1.5}
        for name, (m, g, l, ma, mb) in LHCB_SHAPES.items()
    ]
    functions += [
        {"name": n, "type": "BlattWeisskopf", "l": l, "radius": d} for n, l, d in (("b1", 1, 5.0), ("r1", 1, 1.5), ("r2", 2, 1.5))
    ]
    adler = 0.23397706275638377
    functions += [
        {
            "name": name,
            "type": "generic_function",
            "expression": f"1/({m}^2 - σ - i*{m}*(σ - {adler})/({m}^2 - {adler})*{g}*exp(-{slope}*σ))",
        }
        for name, (m, g, slope) in LHCB_SCALARS.items()
    ]
    g = 0.23395150538434703
    channels = [{"gsq": g, "ma": ma, "mb": mb, "l": 0, "d": 0} for ma, mb in ((M_P, M_K), (1.18937, M_PI))]
    functions.append({"name": "L1405_Flatte", "type": "MultichannelBreitWigner", "mass": 1.4051, "channels": channels})
    pair = SYSTEM["L"]
    sums = [{"distribution": "default_model", "point": "event", "value": LHCB_SUMS["default_model"]}]
    squared = {"L": 3.2, "D": 3.2, "K": 1.4}
    points = [point("event", pair, M_LC, *LHCB_POINT)]
    points += [{"name": f"at_{letter}", "parameters": [{"name": "x", "value": value}]} for letter, value in squared.items()]
    sums += [
        {"distribution": name, "point": f"at_{name[0]}", "value": weight(v.real, v.imag)}
        for name, v in LHCB_SUMS.items()
        if name != "default_model"
    ]
    kinematics = {
        "initial_state": state(0, "Lc", "1/2", M_LC),
        "final_state": [state(1, "p", "1/2", M_P), state(2, "pi", "0", M_PI), state(3, "K", "0", M_K)],
    }
    decay = {"kinematics": kinematics, "reference_topology": [pair, 2], "chains": chains}
    distribution = {
        "name": "default_model",
        "type": "HadronicUnpolarizedIntensity",
        "decay_description": decay,
        "variables": variables(pair),
    }
    return {
        "distributions": [distribution],
        "functions": functions,
        "misc": {"amplitude_model_checksums": sums},
        "parameter_points": points,
    }


def compass():
    """The model of COMPASS as the content of a file."""
    q = "sqrt(x/4 - 0.13956755^2)"
    q0 = "sqrt(0.7685^2/4 - 0.13956755^2)"
    functions = [
        {"name": "R(1274)", "type": "BreitWigner", "mass": 1.274, "width": 0.185, "ma": M_PION, "mb": M_PION, "l": 2, "d": 4.94},
        {"name": "R(1690)", "type": "generic_function", "x": "x", "expression": "sqrt(sqrt(x))/(1.69^2 - x - 1im*1.69*0.19)"},
        {
            "name": "R(600)",
            "type": "generic_function",
            "x": "x",
            "expression": "1/(0.1131/(x + 0.0073999) + 0.0337 - 0.3185*(x/0.982657846681 - 1) - 0.0942*(x/0.982657846681 - 1)^2"
            " - 0.5927*(x/0.982657846681 - 1)^3 - i*sqrt(1 - 4*0.13956755^2/x))",
        },
        {
            "name": "R(768)",
            "type": "generic_function",
            "x": "x",
            "expression": f"1/(0.7685^2 - x - i*0.7685*0.1507*{q}^3/{q0}^3*(1 + {q0}^2*4.94^2)/(1 + {q}^2*4.94^2))",
        },
        {
            "name": "R(965)",
            "type": "MultichannelBreitWigner",
            "mass": 0.965,
            "channels": [
                {"gsq": 0.17098445595854925, "ma": M_PION, "mb": M_PION, "l": 0, "d": 1.0},
                {"gsq": 0.7198445595854923, "ma": 0.493677, "mb": 0.493677, "l": 0, "d": 1.0},
            ],
        },
    ]
    functions += [{"name": f"X{l}", "type": "BlattWeisskopf", "l": l, "radius": 4.940711462450593} for l in range(5)]
    functions += [{"name": f"R{l}", "type": "BlattWeisskopf", "l": l, "radius": 4.94} for l in range(4)]
    distributions = []
    for name, (spin, rows) in COMPASS_CHAINS.items():
        chains = []
        for lineshape, pair, L, S, l, re, im in rows:
            whole = [pair, OTHER[tuple(pair)]]
            vertices = [
                {"type": "ls", "l": L, "s": S, "node": whole, "formfactor": f"X{L}"},
                {"type": "ls", "l": l, "s": "0", "node": pair, "formfactor": f"R{l}"},
            ]
            chains.append(
                {
                    "name": lineshape,
                    "topology": whole,
                    "weight": weight(re, im),
                    "vertices": vertices,
                    "propagators": [{"spin": l, "node": pair, "parametrization": lineshape}],
                }
            )
        kinematics = {
            "initial_state": state(0, "X", spin, M_X),
            "final_state": [state(1, "pi-", "0", M_PION), state(2, "pi+", "0", M_PION), state(3, "pi-", "0", M_PION)],
        }
        decay = {"kinematics": kinematics, "reference_topology": [[2, 3], 1], "chains": chains}
        distributions.append(
            {"name": name, "type": "HadronicUnpolarizedIntensity", "decay_description": decay, "variables": variables([2, 3])}
        )
    points = [point(name, [2, 3], M_X, m, z) for name, (m, z) in COMPASS_POINTS.items()]
    points.append({"name": "validation_point_m12sq", "parameters": [{"name": "x", "value": 1.1}]})
    sums = [
        {"distribution": of, "point": where, "value": weight(v.real, v.imag) if isinstance(v, complex) else v}
        for of, where, v in COMPASS_SUMS
    ]
    return {
        "distributions": distributions,
        "functions": functions,
        "misc": {"amplitude_model_checksums": sums},
        "parameter_points": points,
    }
