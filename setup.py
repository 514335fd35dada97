"""Package definition; ``components/`` is installed as ``neurodriver.components``."""

from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
NVRTC = [  # compiles CUDA C++ without a GPU and without a toolkit; no wheels for macOS
    "cuda-bindings>=13.0; sys_platform != 'darwin'",
    "nvidia-cuda-nvrtc>=13.0; sys_platform != 'darwin'",
]
EXTRAS = {
    "gpu": NVRTC,
    "pycuda": ["pycuda>=2025.1.2"],  # the first that builds with CUDA 13
    "mpi": ["mpi4py>=4"],
    "parts": ["mpi4py>=4", "pymetis>=2025.1"],
    "plot": ["matplotlib>=3.8", "pillow>=10"],
    "movie": ["matplotlib>=3.8", "pillow>=10", "imageio-ffmpeg"],
    "yaml": ["pyyaml>=6"],
    "ports": ["pandas>=2.2"],
    "tables": ["pyarrow>=16"],
    "results": ["pandas>=2.2", "xarray>=2024.6", "neo>=0.14"],
    "nwb": ["pynwb>=3"],
    "statistics": ["elephant>=1.1"],
    "pynn": ["pynn>=0.13"],
    "nir": ["nir>=1"],
    "units": ["pint>=0.24"],
    "equations": ["sympy>=1.12"],
    "compiler": ["ziglang>=0.13"],
}
EXTRAS["docs"] = [
    "sphinx>=8",
    "myst-parser>=4",
    "pydata-sphinx-theme>=0.16",
    "numpydoc>=1.8",
    "sphinx-gallery>=0.18",
    *EXTRAS["plot"],
    *EXTRAS["results"],
    *EXTRAS["tables"],
    *EXTRAS["equations"],
]
EXTRAS["test"] = [
    "pytest>=8",
    "pytest-xdist",
    "hypothesis>=6",
    "scipy>=1.11",
    "mpmath",
    "ruff",
    "mypy",
    "nbclient",
    "nbformat",
    "ipykernel",
    "playwright>=1.40",  # drives a Chromium that is there
    "openmpi; sys_platform != 'win32'",  # mpiexec without a system package
    *NVRTC,
    *EXTRAS["mpi"],
    *EXTRAS["plot"],
    "nwbinspector",
    *EXTRAS["results"],
    *EXTRAS["nwb"],
    *EXTRAS["pynn"],
    *EXTRAS["tables"],
    *EXTRAS["equations"],
    *EXTRAS["nir"],
    *EXTRAS["units"],
    *EXTRAS["yaml"],
]
EXTRAS["all"] = sorted({name for names in EXTRAS.values() for name in names})

packages = find_packages(include=["neurodriver", "neurodriver.*"])
packages = [name for name in packages if not name.startswith("neurodriver.components")]
packages += ["neurodriver.components"] + [
    "neurodriver.components." + name for name in find_packages("components")
]
DATA = {f"neurodriver.circuits.data.{name}": f"data/{name}" for name in ("circuits", "optic_lobe")}
packages += DATA

setup(
    name="neurodriver",
    version="0.1.0",
    description="Simulate neural circuits given as graphs, on CPUs and GPUs.",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="BSD-3-Clause",
    python_requires=">=3.11",
    packages=packages,
    package_dir={
        "neurodriver.components": "components",
        **DATA,
    },
    package_data={
        "neurodriver": ["py.typed"],
        "neurodriver.native": ["*.h", "*.cuh"],
        "neurodriver.codegen": ["*.h"],
        "neurodriver.codegen.simt": ["*.cuh"],
        "neurodriver.codegen.cpu": ["*.h"],
        "neurodriver.backends.cpu": ["*.cpp", "*.h"],
        "neurodriver.compat.base_classes": ["*.h"],
        "neurodriver.view": ["static/*"],
        **{name: ["*"] for name in DATA},
    },
    install_requires=[
        "numpy>=2.0",
        "networkx>=3.2",
        "h5py>=3.10",
        "click>=8.1",
        "tqdm>=4.66",
        "pydantic>=2.7",
    ],
    extras_require=EXTRAS,
    entry_points={"console_scripts": ["neurodriver = neurodriver.__main__:main"]},
)
