"""Writes the ROOT files of this folder from events.txt, with ROOT itself: python make_root_files.py

The tests read what a real ROOT wrote: classes, split and unsplit branches, vectors, arrays, leaf lists, folders. Needs PyROOT.
"""

from pathlib import Path

import numpy as np
import ROOT

HERE = Path(__file__).parent
NAMES = ("kp", "km", "eta")
P4 = np.loadtxt(HERE / "events.txt").reshape(-1, 3, 4)  # E px py pz


def tree_with_vectors(name, kind, split):
    """One object per particle."""
    file = ROOT.TFile(str(HERE / name), "RECREATE")
    tree = ROOT.TTree("events", "")
    make = {
        "TLorentzVector": ROOT.TLorentzVector,
        "ROOT::Math::PxPyPzEVector": ROOT.Math.PxPyPzEVector,
        "ROOT::Math::PxPyPzEVectorF": ROOT.Math.LorentzVector["ROOT::Math::PxPyPzE4D<float>"],
        "ROOT::Math::PtEtaPhiMVector": ROOT.Math.PtEtaPhiMVector,
    }[kind]
    kind = kind.replace("PxPyPzEVectorF", "LorentzVector<ROOT::Math::PxPyPzE4D<float> >")
    objects = [make() for _ in NAMES]
    for particle, value in zip(NAMES, objects, strict=True):
        tree.Branch(particle, kind, value, 32000, split)
    for event in P4:
        for value, (E, px, py, pz) in zip(objects, event, strict=True):
            if kind.endswith("PtEtaPhiMVector"):
                p = ROOT.Math.PxPyPzEVector(px, py, pz, E)
                value.SetCoordinates(p.Pt(), p.Eta(), p.Phi(), p.M())
            else:
                value.SetPxPyPzE(px, py, pz, E)
        tree.Fill()
    file.Write()
    file.Close()


def tree_with_arrays(name):
    """kp: vector<double>, km: double[4], eta: a list of leaves; and things that are no momenta."""
    file = ROOT.TFile(str(HERE / name), "RECREATE")
    tree = ROOT.TTree("events", "")
    kp, km, eta = ROOT.std.vector("double")(4), np.zeros(4), np.zeros(4)
    flag, three = np.zeros(1, dtype=bool), np.zeros(3)
    many = ROOT.std.vector("TLorentzVector")(2)
    short = ROOT.std.vector("double")()
    tree.Branch("kp", kp)
    tree.Branch("km", km, "km[4]/D")
    tree.Branch("eta", eta, "E/D:px/D:py/D:pz/D")
    tree.Branch("flag", flag, "flag/O")
    tree.Branch("three", three, "three[3]/D")
    tree.Branch("many", many)
    tree.Branch("short", short)
    for i, event in enumerate(P4):
        for k in range(4):
            kp[k], km[k], eta[k] = event[0, k], event[1, k], event[2, k]
        short.resize(4 if i < 2 else 3)
        tree.Fill()
    file.Write()
    file.Close()


def tree_with_a_class(name):
    """A class of events with four-vectors as members."""
    ROOT.gInterpreter.Declare("struct Event { TLorentzVector kp; TLorentzVector km; ROOT::Math::PxPyPzEVector eta; double w; };")
    file = ROOT.TFile(str(HERE / name), "RECREATE")
    tree = ROOT.TTree("events", "")
    event = ROOT.Event()
    tree.Branch("event", "Event", event, 32000, 99)
    for i, p4 in enumerate(P4):
        for value, (E, px, py, pz) in zip((event.kp, event.km, event.eta), p4, strict=True):
            value.SetPxPyPzE(px, py, pz, E)
        event.w = i + 0.5
        tree.Fill()
    file.Write()
    file.Close()


def trees_in_folders(name):
    """The tree of a kind of TNtuple in a folder, beside another one."""
    file = ROOT.TFile(str(HERE / name), "RECREATE")
    folder = file.mkdir("DecayTuple")
    folder.cd()
    columns = [f"{particle}_{x}" for particle in ("Kplus", "Kminus", "eta") for x in ("PE", "PX", "PY", "PZ")]
    tuple_ = ROOT.TNtupleD("DecayTree", "", ":".join(columns))
    ROOT.SetOwnership(tuple_, False)  # the file deletes it
    for event in P4:
        tuple_.Fill(1000 * event.reshape(-1))  # MeV
    folder.Write()
    file.cd()
    other = ROOT.TNtuple("lumi", "", "run:luminosity")
    ROOT.SetOwnership(other, False)
    other.Fill(1.0, 2.0)
    file.Write()
    file.Close()


if __name__ == "__main__":
    tree_with_vectors("tlorentzvector.root", "TLorentzVector", 99)
    tree_with_vectors("tlorentzvector_unsplit.root", "TLorentzVector", 0)
    tree_with_vectors("pxpypze.root", "ROOT::Math::PxPyPzEVector", 99)
    tree_with_vectors("pxpypze_unsplit.root", "ROOT::Math::PxPyPzEVector", 0)
    tree_with_vectors("pxpypze_float.root", "ROOT::Math::PxPyPzEVectorF", 0)
    tree_with_vectors("ptetaphim.root", "ROOT::Math::PtEtaPhiMVector", 99)
    tree_with_arrays("arrays.root")
    tree_with_a_class("class.root")
    trees_in_folders("folders.root")
