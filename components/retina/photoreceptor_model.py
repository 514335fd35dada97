"""Photoreceptor of the fly: stochastic phototransduction in microvilli, and a membrane."""

from neurodriver.model.component import Access, NDComponent, Parameter, State
from neurodriver.model.subunits import Reaction, Species, SubUnits

UNUSED = "accepted in old graphs and not used: the gates start from fixed values"


class PhotoreceptorModel(NDComponent):
    """Outer photoreceptor (R1-R6) with ``num_microvilli`` independent microvilli.

    Each microvillus holds seven counts that jump by thirteen reactions: photons make
    metarhodopsin, which switches on G proteins, these switch on phospholipase C, its
    diacylglycerol opens TRP channels, and the calcium that enters shortens and ends the bump. The
    open channels of all microvilli carry ``8 pS max(-V, 0)`` each over 15.7 pF, in uA/cm^2; to
    this ``I`` is added.

    The membrane (4 uF/cm^2) has leaks of potassium and chloride, a Shaker current
    ``G_s sa^3 si``, a delayed rectifier ``G_dr dra^2 dri`` and a slow one ``G_nov nov``, all of
    (V - E_K) but the chloride: ten explicit Euler steps a sub-step, gates one after the other, V
    last. ``ns`` sets the strength of the calcium's negative feedback, and follows V.

    Microvilli and ``ns`` see the V of the sub-step's beginning and its end; photons arrive as a
    Poisson process of ``photon / num_microvilli`` in each microvillus.

    Limits: a negative photon rate counts as 0. Reactions are sampled exactly, without the null
    reaction of rate 0.5/s of the old implementation, which changes no probability. V is a state
    here; there, it was read from a row of the ring that held an older value, so waveforms differ.
    The light-induced current is held for a sub-step: where some 5e4 channels are open at once (a
    step of 30,000 microvilli to 1e6 photons/s), V overshoots 0 mV unless dt is smaller, 20 us for
    1e7 photons/s. Above 17 mV the inactivation ``si`` follows its steady state, where explicit
    Euler would blow up. A cell keeps 14 bytes a microvillus; it is computed by one thread. Bright
    light costs time: every reaction is simulated.
    """

    reference = (
        "Song et al. 2012, Curr Biol 22:1371-1380, doi:10.1016/j.cub.2012.05.047; "
        "Lazar, Psychas, Ukani & Zhou 2015, Neurokernel RFC 3, doi:10.5281/zenodo.30036"
    )
    accesses = ("photon", Access("I", unit="uA/cm^2"))
    updates = ("V",)
    params = {
        "num_microvilli": Parameter(
            "1", at_least=1.0, at_most=1e9, whole=True, doc="number of microvilli"
        ),
        "init_V": Parameter("mV", doc="initial membrane potential, about -82 in the dark"),
        "init_sa": Parameter("1", default=0.2184, doc=UNUSED),
        "init_si": Parameter("1", default=0.9653, doc=UNUSED),
        "init_dra": Parameter("1", default=0.0117, doc=UNUSED),
        "init_dri": Parameter("1", default=0.9998, doc=UNUSED),
        "init_nov": Parameter("1", default=0.0017, doc=UNUSED),
    }
    states = {
        "V": State("mV", "init_V", doc="membrane potential"),
        "sa": State("1", 0.2184, doc="activation of the Shaker current"),
        "si": State("1", 0.9653, doc="inactivation of the Shaker current"),
        "dra": State("1", 0.0117, doc="activation of the delayed rectifier"),
        "dri": State("1", 0.9998, doc="inactivation of the delayed rectifier"),
        "nov": State("1", 0.0017, doc="activation of the slow delayed rectifier"),
        "ns": State("1", 1.0, doc="strength of the negative feedback"),
    }
    maximum_dt = 1e-4
    # mS/cm^2, mV, uF/cm^2
    constants = {
        "C": "4",
        "E_K": "-85",
        "E_Cl": "-30",
        "G_s": "1.6",
        "G_dr": "3.5",
        "G_Cl": "0.006",
        "G_K": "0.082",
        "G_nov": "3",
    }
    terms = {
        "channel_current": "8 * fmax(-0.001 * V, 0)",  # pA of an open channel
        "calcium_current": "690.9537 * channel_current",
        "calcium_loss": "1060 + 179.0952 * exp(-39.60793 * 0.001 * V)",
        "light": "fmax(photon, 0) / num_microvilli",
    }
    sub_units = SubUnits(
        per="num_microvilli",
        species={
            "M": Species(0, 65535, doc="active metarhodopsin"),
            "G": Species(50, 50, doc="G protein"),
            "G_on": Species(0, 50, doc="active G protein"),
            "PLC": Species(0, 100, doc="active phospholipase C"),
            "DAG": Species(0, 65535, doc="diacylglycerol"),
            "CaM": Species(0, 904, doc="calmodulin with calcium"),
            "TRP": Species(0, 25, doc="open channels"),
        },
        terms={
            "bound": "5.5353e-4 * CaM",  # mM
            "Ca": "fmax((calcium_current * TRP + 0.0795979 + 22 * bound)"
            " / (calcium_loss - 120 * bound), 1.6e-4)",  # mM
            "fp": "Ca * Ca / (0.09 + Ca * Ca)",  # half at 0.3 mM
            "bound_3": "bound * bound * bound",
            "fn": "ns * bound_3 / (0.005832 + bound_3)",  # half at 0.18 mM
        },
        reactions=(
            Reaction("light", {"M": 1}, "a photon is absorbed"),
            Reaction("3.7 * (1 + 40 * fn) * M", {"M": -1}, "metarhodopsin is inactivated"),
            Reaction("3.5 * (50 - G_on - G - PLC)", {"G": 1}, "a G protein recovers"),
            Reaction("3 * G_on * PLC", {"G_on": -1}, "a G protein is switched off"),
            Reaction("144 * (1 + 11.1 * fn) * PLC", {"PLC": -1}, "a PLC is switched off"),
            Reaction("4 * (1 + 37.8 * fn) * DAG", {"DAG": -1}, "diacylglycerol is lost"),
            Reaction("25 * (1 + 10 * fn) * TRP", {"TRP": -1}, "a channel closes"),
            Reaction("7.05 * G * M", {"G": -1, "G_on": 1}, "a G protein is switched on"),
            Reaction("15.6 * G_on * (100 - PLC)", {"G_on": -1, "PLC": 1}, "a PLC is switched on"),
            Reaction("5.5 * CaM", {"CaM": -1}, "calmodulin lets calcium go"),
            Reaction("54198 * Ca * (0.5 - bound)", {"CaM": 1}, "calmodulin binds calcium"),
            Reaction(
                "0.0075 * (1 + 11.5 * fp) * DAG * (DAG - 1) * (25 - TRP)",
                {"DAG": -2, "TRP": 1},
                "a channel opens",
            ),
            Reaction("1300 * PLC", {"DAG": 1}, "diacylglycerol is made"),
        ),
        totals={"open_channels": "TRP"},
    )
    update = """
        real current = I + open_channels * channel_current / 15.7;
        real h = dt_ms / 10;
        for (int i = 0; i < 10; ++i) {
            real a = (73 + V) / 20;
            real b = (71 + V) / 29;
            real c = (25 + V) / 32;
            real d = (20 + V) / 22;
            sa += h * (pow(1 / (1 + exp((-23.7 - V) / 12.8)), 1 / 3) - sa)
                  / (0.13 + 3.39 * exp(-a * a));
            real si_inf = 0.9 / (1 + exp((55 + V) / 3.9)) + 0.1 / (1 + exp((74.8 + V) / 10.7));
            si += fmin(h / (113 * exp(-b * b)), 1) * (si_inf - si);
            dra += h * (sqrt(1 / (1 + exp((-1 - V) / 9.1))) - dra) / (0.5 + 5.75 * exp(-c * c));
            dri += h * (1 / (1 + exp((25.7 + V) / 6.4)) - dri) / 890;
            nov += h * (1 / (1 + exp((-12 - V) / 11)) - nov) / (3 + 166 * exp(-d * d));
            V += h * (current - G_Cl * (V - E_Cl)
                      - (G_K + G_s * sa * sa * sa * si + G_dr * dra * dra * dri + G_nov * nov)
                        * (V - E_K)) / C;
        }
        real aim = V >= -53 ? 8.5652 * (V + 53) + 5 : fmax(0.2354 * (V + 70) + 1, 1);
        ns += 0.001 * dt_ms * (aim - ns);
    """
