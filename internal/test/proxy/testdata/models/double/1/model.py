import time

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Doubles its input in 30 ms a batch; a negative input fails."""

    def execute(self, requests):
        time.sleep(0.03)
        responses = []
        for request in requests:
            values = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
            if (values < 0).any():
                error = pb_utils.TritonError("the input is negative")
                responses.append(pb_utils.InferenceResponse(output_tensors=[], error=error))
            else:
                responses.append(pb_utils.InferenceResponse(output_tensors=[pb_utils.Tensor("OUT", 2 * values)]))
        return responses
