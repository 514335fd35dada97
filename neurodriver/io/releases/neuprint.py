"""neuPrint: the hemibrain and other data sets of its server, as exported or fetched."""

from .release import Release

RELEASE = Release(
    name="neuprint",
    source=("bodyId_pre",),
    target=("bodyId_post",),
    synapses=("weight",),
    id=("bodyId",),
    transmitter=("consensusNt", "predictedNt"),
    columns={
        "type": ("type",),
        "class": ("class",),
        "super_class": ("superclass",),
        "side": ("somaSide", "rootSide"),
        "region": ("region",),
    },
    columns_from="traced-neurons.csv and traced-total-connections.csv of "
    "https://storage.cloud.google.com/hemibrain/v1.2/exported-traced-adjacencies-v1.2.tar.gz; "
    "fetch_adjacencies of https://github.com/connectome-neuprint/neuprint-python",
    cite="Scheffer et al. 2020, doi:10.7554/eLife.57443",
    licence="CC BY 4.0",
)
