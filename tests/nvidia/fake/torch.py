# SPDX-License-Identifier: MIT
"""Stands for PyTorch where there is none: everything can be called, and takes no time.

What is asked of it for a number gives 1. That shows that a program holds together, not that it
computes anything. Where a fake_cuda.so is named in $FAKE_CUDA, the program has a GPU of that kind,
and can be joined and suspended.
"""
import ctypes
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


torch.cuda.Stream.side_effect = new_stream
torch.cuda.get_device_name.return_value = "a GPU that is none"
torch.__version__ = "0"
torch.__spec__ = __spec__
sys.modules[__name__] = torch
