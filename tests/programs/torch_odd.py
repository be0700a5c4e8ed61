"""Unusual uses of PyTorch, each with its result on a line, the same each time."""

import copy
import io

import functorch
import torch
import torch.fx
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint


class Unhashable(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def __eq__(self, other):
        return True

    __hash__ = None

    def forward(self, x):
        return self.linear(x)


class Tripled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):  # pylint: disable=arguments-differ
        return x * 3

    @staticmethod
    def backward(ctx, grad):  # pylint: disable=arguments-differ
        return grad * 3


class OwnTensor(torch.Tensor):
    pass


class Counting(TorchDispatchMode):
    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        Counting.count += 1
        return func(*args, **(kwargs or {}))


def saved_and_loaded(net):
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def deep(depth, net, x):
    return net(x).sum() if depth == 0 else deep(depth - 1, net, x)


def gradient(function, x):
    leaf = x.clone().requires_grad_()
    function(leaf).sum().backward()
    return leaf.grad


def main():
    torch.manual_seed(0)
    x = torch.randn(4, 3)
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    print("unhashable", Unhashable()(x).sum().item())
    traced = torch.jit.trace(net, x)
    print("traced", traced(x).sum().item(), len(str(traced.graph)))
    scripted = torch.jit.script(net)
    print("scripted", [scripted(x).sum().item() for _ in range(4)])
    symbolic = torch.fx.symbolic_trace(net)
    print("fx", symbolic(x).sum().item(), symbolic.code)
    print("copies", saved_and_loaded(net)(x).sum().item(), copy.deepcopy(net)(x).sum().item())
    print("checkpoint", gradient(lambda y: checkpoint(net, y), x))
    print("own function", gradient(Tripled.apply, x))
    print("sparse", torch.sparse.mm(x.to_sparse(), x.t()).sum().item())
    print("long lists", sum(y.sum().item() for y in torch._foreach_add([x] * 200, 1)),
          torch.cat([x] * 300).shape)
    print("vmap", functorch.vmap(lambda row: (row * 2).sum())(x),
          functorch.grad(lambda y: (y * y).sum())(x).sum().item())
    own = x.as_subclass(OwnTensor) + 1
    print("own tensor", type(own).__name__, own.sum().item())
    print("quantised", torch.quantize_per_tensor(x, 0.1, 0, torch.quint8).int_repr().sum().item())
    with Counting():
        net(x)
    print("own mode", Counting.count)
    print("deep", deep(300, net, x).item())


if __name__ == "__main__":
    main()
