"""Six neurons with rising currents: a movie of their potentials and spikes.

python examples/04_movie.py
"""

import numpy as np

import neurodriver as nd

# %%
# Six neurons get currents from 3 to 6 uA/cm^2.
count, dt = 6, 1e-4
leaky = {"resting_potential": -70.0, "reset_potential": -70.0, "threshold": -45.0}
leaky |= {"capacitance": 2.0, "resistance": 10.0, "initV": -70.0}
cells = nd.Population("LeakyIAF", count, name="cells", **leaky)
circuit = nd.Circuit([cells])
currents = np.linspace(3, 6, count) * np.ones((1, count))  # uA/cm^2, one row for all steps
inputs = [nd.ArrayInput({"I": (cells, currents)}, mode=1)]
recorder = nd.HDF5Recorder("out/movie.h5", [("V", None), ("spike_state", None)], overwrite=True)
with nd.LPU(circuit, dt, inputs, [recorder]) as lpu:
    lpu.run(duration=0.2)

# %%
# A movie has panels. Each shows a variable of a recording, or a part of one.
with nd.open("out/movie.h5") as recording:
    print(recording)
    movie = nd.Movie(rows=2, figsize=(7, 4.5), title="LeakyIAF, rising currents")
    movie.add(recording["V"][cells[::2].uids], "waveform", title="Potential")
    movie.add(recording["spike_state"], "raster", title="Spikes")
    frames = movie.save("out/movie.gif", interval=5e-3, fps=10)
    movie.save_frame("out/movie.png")
print(frames, "frames; see out/movie.gif")
