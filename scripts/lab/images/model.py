"""Echoes its input after the time that the model's configuration names."""

import json
import time

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        self.seconds = float(parameters["seconds"]["string_value"])

    def execute(self, requests):
        responses = []
        for request in requests:
            time.sleep(self.seconds)
            value = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
            output = pb_utils.Tensor("OUTPUT0", value)
            responses.append(pb_utils.InferenceResponse(output_tensors=[output]))
        return responses
