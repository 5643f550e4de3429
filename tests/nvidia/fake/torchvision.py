# SPDX-License-Identifier: MIT
"""Replaces torchvision in tests, as torch.py does PyTorch."""
import sys
from unittest import mock

torchvision = mock.MagicMock(name="torchvision")
torchvision.__spec__ = __spec__
sys.modules[__name__] = torchvision
