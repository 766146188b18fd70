"""Life cycles of objects against the model of S3's own interface, as the AWS SDK ships it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from clusterwright.deploy.bundle import Check, Folder

__all__ = ["judge_lifecycles"]


def judge_lifecycles(folder: Folder, pattern: str) -> Iterator[Check]:
    """Validate each configuration as ``PutBucketLifecycleConfiguration`` would take it; nothing is sent."""
    try:
        import botocore
        from botocore.session import get_session
        from botocore.validate import ParamValidator
    except ImportError:
        return
    model = get_session().get_service_model("s3")
    shape = model.operation_model("PutBucketLifecycleConfiguration").input_shape.members["LifecycleConfiguration"]
    classes = set(model.shape_for("TransitionStorageClass").enum)
    for path in folder.glob(pattern):
        try:
            document = json.loads(folder.read(path))
            said = ParamValidator().validate(document, shape).generate_report()
            used = {t.get("StorageClass") for rule in document["Rules"] for t in rule.get("Transitions", [])}
            said = said or "; ".join(f"{name!r} is no storage class" for name in sorted(used - classes, key=str))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            said = f"{type(error).__name__}: {error}"
        text = " ".join(said.split())[:200] or "as the interface takes it"
        yield Check(path, "botocore", botocore.__version__, "schema", not said, text)
