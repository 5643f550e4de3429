# SPDX-License-Identifier: MIT
"""Stands for torchvision where there is none; see torch.py beside it."""
import sys
from unittest import mock

torchvision = mock.MagicMock(name="torchvision")
torchvision.__spec__ = __spec__
sys.modules[__name__] = torchvision
