# SPDX-License-Identifier: MIT
"""Stands for PyTorch where there is none: everything can be called, and takes no time.

What is asked of it for a number gives 1. That shows that a program holds together, not that it
computes anything.
"""
import sys
from unittest import mock

torch = mock.MagicMock(name="torch")
torch.cuda.is_available.return_value = True
torch.cuda.get_device_name.return_value = "a GPU that is none"
torch.__version__ = "0"
torch.__spec__ = __spec__
sys.modules[__name__] = torch
