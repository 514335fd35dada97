"""Male CNS: brain and nerve cord of a male fly, the flat files of the release."""

from .release import Release

RELEASE = Release(
    name="male_cns",
    source=("body_pre",),
    target=("body_post",),
    synapses=("weight",),
    id=("bodyId", "body"),
    transmitter=("consensus_nt", "predicted_nt"),
    columns={
        "type": ("type", "cell_type"),
        "class": ("class",),
        "super_class": ("superclass",),
        "side": ("somaSide", "rootSide"),
        "region": ("region",),
    },
    columns_from="https://male-cns.janelia.org/download/ (flat-connectome)",
    cite="Berg et al. 2026, doi:10.1016/j.cell.2026.08.015",
    licence="CC BY 4.0",
)
