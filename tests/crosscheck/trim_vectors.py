"""Make the vectors in this folder from the full reference files: first events only, one basis each.

python tests/crosscheck/trim_vectors.py FOLDER_WITH_FULL_FILES
"""

import json
import sys
from pathlib import Path

EVENTS = {"a_kketa": 10, "b_gammaf": 6, "c_ppbareta": 3, "e2_a1pi4pi": 6}
BASIS = {"a_kketa": "B", "b_gammaf": "B_LS", "c_ppbareta": "B", "e2_a1pi4pi": "B_qL"}


def trim(full: dict, n: int, basis: str) -> dict:
    amps = full["amps_LS"] if basis == "B_LS" else full["amps"]
    scale = full["qL_LS"] if basis == "B_LS" else full["qL"]
    return {
        "name": full["name"],
        "note": full["note"],
        "conventions": full["conventions"],
        "initial": full["initial"],
        "particles": full["particles"],
        "chains": full["chains"],
        "symmetrisation": full["symmetrisation"],
        "amps": [{"chain": amp["chain"], "nodes": amp["nodes"]} for amp in amps],
        "momenta": {name: p[:n] for name, p in full["momenta"].items()},
        "momenta_lab": {name: p[:n] for name, p in full["momenta_lab"].items()},
        "qL": None if scale is None else scale[:n],
        "B": {pol: {part: values[:n] for part, values in B.items()} for pol, B in full[basis].items()},
    }


if __name__ == "__main__":
    for name, n in EVENTS.items():
        full = json.loads((Path(sys.argv[1]) / f"{name}.json").read_text())
        target = Path(__file__).parent / "vectors" / f"{name}.json"
        target.write_text(json.dumps(trim(full, n, BASIS[name]), separators=(",", ":")) + "\n")
