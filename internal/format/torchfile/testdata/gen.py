#!/usr/bin/env python3
"""Writes the files of torchfile_test.go: /usr/bin/python3 gen.py FOLDER"""
import collections, sys, torch

folder = sys.argv[1]
wide = torch.arange(40, dtype=torch.float32).reshape(10, 4)
state = collections.OrderedDict([
    ("conv1.weight", torch.arange(24, dtype=torch.float32).reshape(2, 3, 2, 2) / 8),
    ("bn1.num_batches_tracked", torch.tensor(7)),
    ("transposed", torch.arange(6, dtype=torch.float32).reshape(2, 3).t()),
    ("view", wide[2:4]),
    ("half", torch.tensor([1, -0.5]).half()),
    ("bfloat16", torch.tensor([3.0]).bfloat16()),
    ("double", torch.tensor([0.25]).double()),
    ("empty", torch.zeros(0, 3)),
    ("scalar", torch.tensor(2.5)),
])
torch.save(state, f"{folder}/state.pth")
torch.save({"epoch": 3, "note": "x" * 300, "state_dict": state, "optimizer": {"lr": 0.1, "groups": [(1, 2), None, True]}}, f"{folder}/checkpoint.pth")
torch.save({"student": {"scalar": torch.tensor(0.0)}, "teacher": state}, f"{folder}/teacher.pth")
torch.save({k: torch.nn.Parameter(v) for k, v in state.items() if v.is_floating_point()}, f"{folder}/parameters.pth")
torch.save(state, f"{folder}/legacy.pth", _use_new_zipfile_serialization=False)
torch.save(torch.nn.Linear(3, 2), f"{folder}/module.pth")
torch.save(torch.zeros(2), f"{folder}/tensor.pth")
torch.save({"a": 1}, f"{folder}/numbers.pth")


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.proj, self.sides = torch.nn.Parameter(torch.arange(6.).reshape(2, 3) / 8), [3, 4]
        self.register_buffer("view", torch.arange(6.).reshape(2, 3).t())

    def forward(self, x):
        return x @ self.view + self.sides[0]


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.visual = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 2), torch.nn.BatchNorm2d(2), torch.nn.ReLU())
        self.inner, self.scale = Inner(), torch.nn.Parameter(torch.tensor(2.5))

    def forward(self, x):
        return self.visual(x) * self.scale


program = Outer().eval()
with torch.no_grad():
    for p in program.visual.parameters():
        p.copy_(torch.arange(p.numel()).reshape(p.shape) / 4)
program.inner.half()
torch.jit.script(program).save(f"{folder}/scripted.pt")
torch.jit.trace(program, torch.zeros(1, 1, 4, 4)).save(f"{folder}/traced.pt")
