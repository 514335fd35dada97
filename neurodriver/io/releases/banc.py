"""BANC: brain and nerve cord of a female fly."""

from .release import Release

RELEASE = Release(
    name="banc",
    source=("pre", "pre_root_id"),
    target=("post", "post_root_id"),
    synapses=("count", "syn_count"),
    id=("root_id", "banc_*"),
    transmitter=("neurotransmitter_verified", "neurotransmitter_predicted", "nt_type"),
    columns={
        "type": ("cell_type", "primary_type"),
        "class": ("cell_class", "class"),
        "super_class": ("super_class",),
        "side": ("side",),
        "region": ("region",),
    },
    columns_from="https://github.com/htem/BANC-project (banc_746_meta.feather, "
    "banc_746_simple_edgelist.feather)",
    cite="Bates, Phelps, Kim, Yang et al. 2026, doi:10.1038/s41586-026-10735-w",
    licence="CC BY 4.0",
)
