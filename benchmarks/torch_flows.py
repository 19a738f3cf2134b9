"""The training steps that "vtilab devices --benchmark" times, written in PyTorch, eager and compiled.

    python3 benchmarks/torch_flows.py                       # on a card if there is one
    python3 benchmarks/torch_flows.py --batches 1024 --predictors 7 --device cpu

The same flows in the same sizes (masked residual networks over the active coordinates, packed to the front), the same
robust likelihood on 50 rows, pathwise gradients for the flow and score-function gradients with leave-one-out baselines for
q(m), gradient clipping and Adam. Where they differ, PyTorch has less to do: q(m) is a table up to 20 predictors and independent
inclusions beyond, where vti has a network; there is no anchor at the end of the flow and no control of the entropy of
q(m). Products are in float32 unless --tf32 is given, as they are in vti.

Times are medians of four intervals, at the end of which the device is waited for, after one that is not timed.
"""

import argparse
import math
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

ROWS = 50  # observations
BOUND, LEAST_BIN, LARGEST_LOG_SCALE = 5.0, 1e-3, 4.0
CLIP = 50.0


def mask_of(rows, columns, allowed):
    return torch.tensor([[float(allowed(r, c)) for c in range(columns)] for r in range(rows)])


def soft_clamp(x):
    return LARGEST_LOG_SCALE * torch.tanh(x / LARGEST_LOG_SCALE)


class MaskedLinear(nn.Module):
    """x @ (weight * mask) + bias; a mask that allows nothing leaves the bias."""

    def __init__(self, mask, scale=None):
        super().__init__()
        inputs, outputs = mask.shape
        half = 1 / math.sqrt(inputs) if scale is None else scale
        self.register_buffer("mask", mask)
        self.weight = nn.Parameter(half * (2 * torch.rand(inputs, outputs) - 1))
        self.bias = nn.Parameter(half * (2 * torch.rand(outputs) - 1))

    def forward(self, x):
        return x @ (self.weight * self.mask) + self.bias


class MADE(nn.Module):
    """A residual masked network: hidden units sorted by degree, the context entering every block."""

    def __init__(self, dim, context, hidden, blocks, heads, activation):
        super().__init__()
        if hidden >= dim:
            degrees = [k * dim // hidden for k in range(hidden)]
        else:
            degrees = [k * (dim - 1) // (hidden - 1) for k in range(hidden)]
        inner = mask_of(hidden, hidden, lambda k, l: degrees[k] <= degrees[l])
        self.activation = activation
        self.first = MaskedLinear(mask_of(dim, hidden, lambda j, k: j < degrees[k]))
        self.context = nn.ModuleList(nn.Linear(context, hidden) for _ in range(blocks + 1))
        self.inner = nn.ModuleList(MaskedLinear(inner) for _ in range(blocks))
        self.outer = nn.ModuleList(MaskedLinear(inner, 1e-3) for _ in range(blocks))
        self.heads = nn.ModuleList(
            MaskedLinear(mask_of(hidden, dim * count, lambda k, c, n=count: degrees[k] <= c // n), 0.0) for count in heads
        )

    def forward(self, x, context):
        h = self.first(x) + self.activation(self.context[0](context))
        for inner, outer, conditioned in zip(self.inner, self.outer, self.context[1:]):
            h = h + outer(self.activation(inner(self.activation(h)) + conditioned(context)))
        return [head(h) for head in self.heads]


def affine(rho, z):
    log_slope = soft_clamp(rho[1])
    return rho[0] + torch.exp(log_slope) * z, log_slope


def spline(rho, z, bins):
    """Rational-quadratic inside (-5, 5), the identity outside (Durkan et al. 2019), then affine."""
    batch, dim = z.shape
    inside = z.abs() < BOUND
    x = torch.where(inside, z, torch.zeros_like(z))

    def bars(values):
        share = torch.softmax(values.view(batch, dim, bins), -1)
        return 2 * BOUND * (LEAST_BIN + (1 - LEAST_BIN * bins) * share)

    widths, heights = bars(rho[0]), bars(rho[1])
    slopes = F.pad(torch.exp(soft_clamp(rho[2].view(batch, dim, bins - 1))), (1, 1), value=1.0)
    knots = F.pad(torch.cumsum(widths, -1), (1, 0)) - BOUND
    levels = F.pad(torch.cumsum(heights, -1), (1, 0)) - BOUND
    index = (x.unsqueeze(-1) >= knots[..., 1:-1]).sum(-1, keepdim=True)

    def pick(values, at):
        return values.gather(-1, at).squeeze(-1)

    width, height = pick(widths, index), pick(heights, index)
    d0, d1 = pick(slopes, index), pick(slopes, index + 1)
    secant = height / width
    xi = ((x - pick(knots, index)) / width).clamp(0, 1)
    cross = xi * (1 - xi)
    denominator = secant + (d0 + d1 - 2 * secant) * cross
    y = pick(levels, index) + height * (secant * xi.square() + d0 * cross) / denominator
    slope = d1 * xi.square() + 2 * secant * cross + d0 * (1 - xi).square()
    log_slope = torch.log(slope * (secant / denominator).square())
    theta, log_scale = affine(rho[3:], torch.where(inside, y, z))
    return theta, torch.where(inside, log_slope, torch.zeros_like(z)) + log_scale


class Flow(nn.Module):
    """theta = T(z | m) over the active coordinates of each row."""

    def __init__(self, kind, dim, features):
        super().__init__()
        self.kind = kind
        self.shift, self.log_scale = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.zeros(dim))
        if kind == "diagonal":
            widths = [features] + 5 * [256]
            layers = []
            for inputs, outputs in zip(widths[:-1], widths[1:]):
                layers += [nn.Linear(inputs, outputs), nn.ReLU()]
            self.network = nn.Sequential(*layers)
            self.ends = nn.ModuleList(nn.Linear(256, dim) for _ in range(2))
            for end in self.ends:
                nn.init.zeros_(end.weight)
                nn.init.zeros_(end.bias)
        elif kind == "affine":
            self.layers = nn.ModuleList(MADE(dim, features, 16, 5, [1, 1], F.leaky_relu) for _ in range(5))
        else:
            self.bins = 10
            heads = [self.bins, self.bins, self.bins - 1, 1, 1]
            self.layers = nn.ModuleList(MADE(dim, features, 512, 6, heads, F.relu) for _ in range(4))

    def forward(self, mask, features, z):
        zeros = torch.zeros_like(z)
        if self.kind == "diagonal":
            h = self.network(features)
            x, log_slope = affine([end(h) for end in self.ends], z)
            log_det = torch.where(mask, log_slope, zeros).sum(-1)
        else:
            column = torch.arange(z.shape[1], device=z.device).expand_as(z)
            rank, used = mask.cumsum(-1), mask.sum(-1, keepdim=True)
            slots = torch.where(mask, rank - 1, used + column - rank)  # of each coordinate
            order = torch.empty_like(slots).scatter_(1, slots, column)  # the coordinate in each slot
            active = column < used
            reversal = torch.where(active, used - 1 - column, column)
            x, log_det = z.gather(1, order), torch.zeros_like(z[:, 0])
            for i, layer in enumerate(self.layers):
                if i > 0:
                    x = x.gather(1, reversal)
                rho = layer(x, features)
                y, log_slope = affine(rho, x) if self.kind == "affine" else spline(rho, x, self.bins)
                x = torch.where(active, y, x)
                log_det = log_det + torch.where(active, log_slope, zeros).sum(-1)
            if len(self.layers) % 2 == 0:
                x = x.gather(1, reversal)
            x = x.gather(1, slots)
        x = self.shift + torch.exp(self.log_scale) * x
        log_det = log_det + torch.where(mask, self.log_scale.expand_as(z), zeros).sum(-1)
        return torch.where(mask, x, z), log_det


class Problem(nn.Module):
    """The robust design: a column of ones, predictors, and a tenth of the rows outliers; q(m) and the flow."""

    def __init__(self, kind, predictors):
        super().__init__()
        generator = torch.Generator().manual_seed(1)
        x = torch.randn(ROWS, predictors, generator=generator)
        effects = (torch.rand(predictors, generator=generator) < 0.4).float()
        noise = torch.where(torch.rand(ROWS, generator=generator) < 0.1, 10.0, 1.0)
        self.register_buffer("x", torch.cat([torch.ones(ROWS, 1), x], 1))
        self.register_buffer("y", x @ effects + noise * torch.randn(ROWS, generator=generator))
        self.predictors = predictors
        self.table = predictors <= 20
        self.logits = nn.Parameter(torch.zeros(2**predictors if self.table else predictors))
        if self.table:
            self.register_buffer("powers", 2 ** torch.arange(predictors))
        self.flow = Flow(kind, predictors + 1, predictors)

    def draw(self, batch):
        """Models and their log q(m)."""
        if self.table:
            log_q = torch.log_softmax(self.logits, 0)
            index = torch.multinomial(log_q.detach().exp(), batch, replacement=True)
            return (index.unsqueeze(-1) // self.powers) % 2 == 1, log_q[index]
        bits = torch.rand(batch, self.predictors, device=self.logits.device) < torch.sigmoid(self.logits.detach())
        log_q = torch.where(bits, F.logsigmoid(self.logits), F.logsigmoid(-self.logits)).sum(-1)
        return bits, log_q

    def forward(self, batch):
        bits, log_model = self.draw(batch)
        mask = torch.cat([torch.ones_like(bits[:, :1]), bits], 1)
        z = torch.randn(batch, self.predictors + 1, device=self.x.device)
        theta, log_det = self.flow(mask, bits.float(), z)
        zeros = torch.zeros_like(z)
        half_log_2pi = 0.5 * math.log(2 * math.pi)
        log_q = torch.where(mask, -0.5 * z.square() - half_log_2pi, zeros).sum(-1) - log_det
        active = torch.where(mask, theta, zeros)
        squares = -0.5 * (active @ self.x.T - self.y).square()
        log_likelihood = torch.logaddexp(squares + math.log(0.9), squares / 100 + math.log(0.1 / 10)).sum(-1)
        log_prior = torch.where(mask, -0.5 * (theta / 1.5).square() - math.log(1.5) - half_log_2pi, zeros).sum(-1)
        log_joint = log_likelihood - ROWS * half_log_2pi + log_prior
        loss = log_q - log_joint
        reward = (loss + log_model + self.predictors * math.log(2)).detach()
        baseline = (reward.sum() - reward) / (batch - 1)
        return loss.mean() + ((reward - baseline) * log_model).mean()


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measure(kind, predictors, batch, device, compiled):
    """Seconds of a step, and seconds until the first was done."""
    torch.manual_seed(1)
    problem = Problem(kind, predictors).to(device)
    parameters = list(problem.parameters())
    optimizer = torch.optim.Adam(parameters, lr=3e-3, fused=device.type == "cuda")
    torch.compiler.reset()
    loss_of = torch.compile(problem, dynamic=False) if compiled else problem

    def steps(count):
        synchronize(device)
        started = time.perf_counter()
        for _ in range(count):
            optimizer.zero_grad(set_to_none=True)
            loss_of(batch).backward()
            torch.nn.utils.clip_grad_norm_(parameters, CLIP)
            optimizer.step()
        synchronize(device)
        return time.perf_counter() - started

    start = steps(1)
    guess = steps(2) / 2
    every = max(1, min(1000, int(0.25 / guess)))
    steps(every)
    return statistics.median(steps(every) / every for _ in range(4)), start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flows", default="diagonal,affine,spline")
    parser.add_argument("--predictors", default="7,100")
    parser.add_argument("--batches", default="1024,8192,65536")
    parser.add_argument("--modes", default="eager,compile")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--tf32", action="store_true", help="let products of float32 round their factors to 10 bits")
    options = parser.parse_args()
    if options.tf32:
        torch.set_float32_matmul_precision("high")
    else:
        torch.set_float32_matmul_precision("highest")
    device = torch.device(options.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    print(f"{name}, torch {torch.__version__}, float32{' with TF32' if options.tf32 else ''}\n")
    print(f"  {'mode':8}{'flow':10}{'predictors':>10}{'batch':>8}{'ms/step':>10}{'samples/s':>11}{'start s':>9}")
    failed = False
    for kind in options.flows.split(","):
        for predictors in map(int, options.predictors.split(",")):
            for batch in map(int, options.batches.split(",")):
                for mode in options.modes.split(","):
                    line = f"  {mode:8}{kind:10}{predictors:10}{batch:8}"
                    try:
                        seconds, start = measure(kind, predictors, batch, device, mode == "compile")
                        print(f"{line}{1e3 * seconds:10.4g}{batch / seconds:11.3g}{start:9.1f}", flush=True)
                    except torch.cuda.OutOfMemoryError:
                        failed = True
                        print(f"{line}  out of memory", flush=True)
                        torch.cuda.empty_cache()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
