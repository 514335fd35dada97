"""A photoreceptor of the fly answers flashes of light, photon by photon.

Photons are absorbed at random by the microvilli of a cell. Each absorbed photon starts a cascade of
reactions that opens channels for some milliseconds: a quantum bump. The bumps add up to the
response of the cell.

python examples/16_photoreceptor.py
"""

import matplotlib.pyplot as plt
import numpy as np

import neurodriver as nd

# %%
# Six cells with 3,000 microvilli each. Every cell sees a flash from 100 to 300 ms. Each flash is
# ten times as bright as the one before.
DT = 1e-4
RATES = 10.0 ** np.arange(1, 7)  # photons/s
cells = nd.Population("PhotoreceptorModel", len(RATES), name="cells", num_microvilli=3000,
                      init_V=-82.0)  # fmt: skip
flash = nd.StepInput("photon", cells, RATES, start=0.1, stop=0.3)
with nd.LPU(nd.Circuit([cells]), DT, [flash]) as lpu:
    lpu.run(duration=0.5, record=["V"])
V = lpu.recording.V

# %%
# At 10 photons/s a single bump is seen. Brighter flashes cause more bumps, which add up. The
# brightest ones use up the microvilli that are ready: the response falls soon after its peak.
figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", width_ratios=[2, 1])
colours = plt.get_cmap("viridis")(np.linspace(0.85, 0, len(RATES)))
dark = V[: round(0.1 / DT)].mean()
for rate, colour, trace in zip(RATES, colours, V[:].T, strict=True):
    panels[0].plot(V.time * 1e3, trace, color=colour, lw=1, label=f"$10^{{{np.log10(rate):.0f}}}$")
panels[0].axvspan(100, 300, color="gold", alpha=0.15, lw=0)
panels[0].set(xlabel="time (ms)", ylabel="V (mV)", title="flash of 200 ms")
panels[0].legend(title="photons/s", frameon=False, fontsize=8)
late = (V.time > 0.2) & (V.time < 0.3)
panels[1].semilogx(RATES, V[:].max(axis=0) - dark, "o-", color="#4477AA", label="peak")
panels[1].semilogx(RATES, V[:][late].mean(axis=0) - dark, "s-", color="#CC6677", label="plateau")
panels[1].set(xlabel="photons/s", ylabel="depolarisation (mV)", title="response")
panels[1].legend(frameon=False)
for panel in panels:
    panel.spines[["top", "right"]].set_visible(False)
figure.savefig("out/photoreceptor.png", dpi=150)
print("peaks:", *(f"{one:.1f}" for one in V[:].max(axis=0) - dark), "mV")
