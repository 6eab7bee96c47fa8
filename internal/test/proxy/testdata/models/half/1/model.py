import time

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Halves its input in 10 ms a batch; a negative input fails."""

    def execute(self, requests):
        time.sleep(0.01)
        responses = []
        for request in requests:
            values = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
            if (values < 0).any():
                error = pb_utils.TritonError("the input is negative")
                responses.append(pb_utils.InferenceResponse(output_tensors=[], error=error))
            else:
                responses.append(pb_utils.InferenceResponse(output_tensors=[pb_utils.Tensor("OUT", 0.5 * values)]))
        return responses
