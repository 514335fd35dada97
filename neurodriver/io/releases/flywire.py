"""FlyWire: the brain of a female fly (FAFB), downloaded from Codex."""

from .release import Release

RELEASE = Release(
    name="flywire",
    source=("pre_root_id", "pre_pt_root_id"),
    target=("post_root_id", "post_pt_root_id"),
    synapses=("syn_count",),
    id=("root_id",),
    transmitter=("nt_type",),
    columns={
        "type": ("primary_type", "cell_type"),
        "class": ("class", "cell_class"),
        "super_class": ("super_class",),
        "side": ("side",),
        "region": ("group",),
    },
    columns_from="https://codex.flywire.ai/api/download (FAFB v783)",
    cite="Dorkenwald et al. 2024, doi:10.1038/s41586-024-07558-y; "
    "Schlegel et al. 2024, doi:10.1038/s41586-024-07686-5; "
    "Eckstein, Bates et al. 2024, doi:10.1016/j.cell.2024.03.016",
    licence="CC BY-NC 4.0",
)
