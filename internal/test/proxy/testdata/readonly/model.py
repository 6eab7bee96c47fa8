import os
import tempfile

import numpy as np
import triton_python_backend_utils as pb_utils


def writes(folder):
    """Whether a file can be written into a folder, which is made if need be."""
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
        return True
    except OSError:
        return False


class TritonPythonModel:
    """Says, in order, whether it can write a temporary file, a cache, a kernel, shared memory, and beside the server."""

    def execute(self, requests):
        folders = [
            tempfile.gettempdir(),
            os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")),
            os.environ.get("CUDA_CACHE_PATH", os.path.expanduser("~/.nv/ComputeCache")),
            "/dev/shm",
            os.getcwd(),
        ]
        out = np.array([writes(folder) for folder in folders], dtype=np.float32)
        return [pb_utils.InferenceResponse(output_tensors=[pb_utils.Tensor("OUT", out)]) for _ in requests]
