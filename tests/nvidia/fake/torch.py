# SPDX-License-Identifier: MIT
"""Replaces PyTorch in tests: everything can be called, takes no time, and is 1 as a number.

This tests the structure of a program, not its results. If $FAKE_CUDA names a fake_cuda.so, the program
has a GPU of that kind, and can be joined and suspended. If $FAKE_TORCH_LOG names a file, each program
appends its arguments and its settings of MPS to it.
"""
import ctypes
import json
import os
import sys
from unittest import mock

torch = mock.MagicMock(name="torch")
torch.cuda.is_available.return_value = True


def new_stream(*_):
    if os.environ.get("FAKE_CUDA"):
        context = ctypes.c_void_p()
        ctypes.CDLL(os.environ["FAKE_CUDA"]).cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    return mock.MagicMock(name="stream")


if os.environ.get("FAKE_TORCH_LOG"):
    with open(os.environ["FAKE_TORCH_LOG"], "a", encoding="utf-8") as f:
        f.write(json.dumps({"words": sys.argv[1:], **{k: v for k, v in os.environ.items()
                                                      if k.startswith("CUDA_MPS_")}}) + "\n")

torch.cuda.Stream.side_effect = new_stream
torch.cuda.get_device_name.return_value = "a fake GPU"
torch.__version__ = "0"
torch.__spec__ = __spec__
sys.modules[__name__] = torch
