#!/usr/bin/env python3
"""Makes the golden numbers of tests/reference: golden_gpt2.h5 and golden_llama.h5.

Small random models in double precision, by PyTorch's automatic differentiation: first gradients, then the losses of
eleven forward passes along ten AdamW steps on one batch. The model below is written independently of Trireme, and its
logits are checked against those of transformers before anything is stored.

Needs torch, transformers, h5py, numpy:  python3 tools/make_golden.py [FOLDER]

Each file holds
  attribute deck          the model's sizes, a TOML table [model] of a Trireme deck
  input, targets          [B, T] int32
  loss_weights            [B, T] float32, 0 or 1: which targets count
  weights/<parameter>     float32, the first weights
  gradients/<parameter>   float64, of the first step: mean loss over counted tokens, not clipped
  losses                  [11] float64, before each step and after the last
  gradient_norms          [10] float64, of each step before clipping
  final/<parameter>       float64, after ten steps
  autocast/weights/<parameter>    float32, of a model with the usual small deviation: larger weights amplify rounding
  autocast/gradients/<parameter>  float32, of its first step under PyTorch's bf16 autocast, parameters in fp32
  autocast/losses         [51] float64, along fifty steps of it
and the optimizer's settings as attributes.

Letters: B sequences, T tokens, D width, H heads, G key and value heads, K head width, F mlp width, V vocabulary.
"""

import dataclasses
import math
import pathlib
import sys

import h5py
import numpy as np
import torch

STEPS = 10
AUTOCAST_STEPS = 50
OPTIMIZER = {"learning_rate": 1e-3, "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "weight_decay": 0.1, "clip_norm": 1.0}


@dataclasses.dataclass
class Sizes:
    """The keys of a deck's [model] section."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head_width: int
    mlp_width: int
    context: int
    vocab: int
    norm: str
    norm_epsilon: float
    activation: str
    position: str
    rotary_base: float
    bias: bool
    tied_embeddings: bool

    def toml(self):
        lines = ["[model]"]
        for name, value in dataclasses.asdict(self).items():
            if isinstance(value, bool):
                value = "true" if value else "false"
            elif isinstance(value, str):
                value = f'"{value}"'
            lines.append(f"{name} = {value}")
        return "\n".join(lines) + "\n"


GPT2 = Sizes(layers=2, width=18, heads=3, kv_heads=3, head_width=6, mlp_width=72, context=13, vocab=61,
             norm="layernorm", norm_epsilon=1e-5, activation="gelu_tanh", position="learned", rotary_base=10000.0,
             bias=True, tied_embeddings=True)
LLAMA = Sizes(layers=2, width=20, heads=4, kv_heads=2, head_width=6, mlp_width=28, context=11, vocab=53,
              norm="rmsnorm", norm_epsilon=1e-5, activation="swiglu", position="rotary", rotary_base=10000.0,
              bias=False, tied_embeddings=False)


def shapes_of(sizes):
    """Every parameter's name and shape; linear layers are [out, in]."""
    s = sizes
    shapes = {"embedding.token.weight": (s.vocab, s.width)}
    if s.position == "learned":
        shapes["embedding.position.weight"] = (s.context, s.width)

    def norm(name):
        shapes[f"{name}.gain"] = (s.width,)
        if s.norm == "layernorm":
            shapes[f"{name}.bias"] = (s.width,)

    def linear(name, out_width, in_width):
        shapes[f"{name}.weight"] = (out_width, in_width)
        if s.bias:
            shapes[f"{name}.bias"] = (out_width,)

    for layer in range(s.layers):
        block = f"blocks.{layer}"
        norm(f"{block}.norm_1")
        linear(f"{block}.attention.query", s.heads * s.head_width, s.width)
        linear(f"{block}.attention.key", s.kv_heads * s.head_width, s.width)
        linear(f"{block}.attention.value", s.kv_heads * s.head_width, s.width)
        linear(f"{block}.attention.output", s.width, s.heads * s.head_width)
        norm(f"{block}.norm_2")
        if s.activation == "swiglu":
            linear(f"{block}.mlp.gate", s.mlp_width, s.width)
        linear(f"{block}.mlp.up", s.mlp_width, s.width)
        linear(f"{block}.mlp.down", s.width, s.mlp_width)
    norm("final_norm")
    if not s.tied_embeddings:
        shapes["head.weight"] = (s.vocab, s.width)
    return shapes


def draw(sizes, generator, deviation=0.2):
    """Random parameters that float32 holds exactly; gains near 1, nothing zero."""
    weights = {}
    for name, shape in shapes_of(sizes).items():
        x = torch.randn(shape, generator=generator, dtype=torch.float64)
        x = 1 + 0.1 * x if name.endswith(".gain") else deviation * x
        weights[name] = x.float().double().requires_grad_()
    return weights


def norm(sizes, weights, name, x):
    if sizes.norm == "layernorm":
        x = x - x.mean(-1, keepdim=True)
    x = x / torch.sqrt((x * x).mean(-1, keepdim=True) + sizes.norm_epsilon) * weights[f"{name}.gain"]
    return x + weights[f"{name}.bias"] if sizes.norm == "layernorm" else x


def linear(weights, name, x):
    y = x @ weights[f"{name}.weight"].T
    return y + weights[f"{name}.bias"] if f"{name}.bias" in weights else y


def rotate(x, base):
    """Rotary positions of x [B, heads, T, K]: element i turns with element i + K/2."""
    half = x.shape[-1] // 2
    frequency = base ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * frequency
    first, second = x[..., :half], x[..., half:]
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


def attention(sizes, weights, name, x):
    b, t, _ = x.shape

    def heads(which, count):
        return linear(weights, f"{name}.{which}", x).view(b, t, count, sizes.head_width).transpose(1, 2)

    query, key, value = heads("query", sizes.heads), heads("key", sizes.kv_heads), heads("value", sizes.kv_heads)
    if sizes.position == "rotary":
        query, key = rotate(query, sizes.rotary_base), rotate(key, sizes.rotary_base)
    group = sizes.heads // sizes.kv_heads  # query heads h with equal h // group share a key and value head
    key, value = key.repeat_interleave(group, 1), value.repeat_interleave(group, 1)
    scores = query @ key.transpose(-1, -2) / math.sqrt(sizes.head_width)
    future = torch.ones(t, t, dtype=torch.bool).triu(1)
    mixed = scores.masked_fill(future, -math.inf).softmax(-1) @ value
    return linear(weights, f"{name}.output", mixed.transpose(1, 2).reshape(b, t, -1))


def mlp(sizes, weights, name, x):
    up = linear(weights, f"{name}.up", x)
    if sizes.activation == "swiglu":
        gate = linear(weights, f"{name}.gate", x)
        return linear(weights, f"{name}.down", gate * torch.sigmoid(gate) * up)
    inner = math.sqrt(2 / math.pi) * (up + 0.044715 * up**3)
    return linear(weights, f"{name}.down", 0.5 * up * (1 + torch.tanh(inner)))


def logits_of(sizes, weights, tokens):
    x = weights["embedding.token.weight"][tokens]
    if sizes.position == "learned":
        x = x + weights["embedding.position.weight"][: tokens.shape[1]]
    for layer in range(sizes.layers):
        block = f"blocks.{layer}"
        x = x + attention(sizes, weights, f"{block}.attention", norm(sizes, weights, f"{block}.norm_1", x))
        x = x + mlp(sizes, weights, f"{block}.mlp", norm(sizes, weights, f"{block}.norm_2", x))
    table = "embedding.token.weight" if sizes.tied_embeddings else "head.weight"
    return norm(sizes, weights, "final_norm", x) @ weights[table].T


def loss_of(sizes, weights, tokens, targets, counted):
    log_probability = logits_of(sizes, weights, tokens).log_softmax(-1)
    of_target = log_probability.gather(-1, targets[..., None])[..., 0]
    return -(of_target * counted).sum() / counted.sum()


def adamw(weights, gradients, moments, step, factor):
    """One update; step counts from 1, gradients are multiplied by factor (clipping)."""
    o = OPTIMIZER
    for name, weight in weights.items():
        first, second = moments[name]
        gradient = gradients[name] * factor
        first.mul_(o["beta1"]).add_((1 - o["beta1"]) * gradient)
        second.mul_(o["beta2"]).add_((1 - o["beta2"]) * gradient * gradient)
        direction = first / (1 - o["beta1"] ** step) / (
            torch.sqrt(second / (1 - o["beta2"] ** step)) + o["epsilon"])
        decay = o["weight_decay"] if weight.dim() == 2 else 0.0
        with torch.no_grad():
            weight.mul_(1 - o["learning_rate"] * decay).sub_(o["learning_rate"] * direction)


def gpt2_of_transformers(sizes, weights, tokens):
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=sizes.vocab, n_positions=sizes.context, n_embd=sizes.width, n_layer=sizes.layers,
        n_head=sizes.heads, n_inner=sizes.mlp_width, activation_function="gelu_new",
        layer_norm_epsilon=sizes.norm_epsilon, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
        attn_implementation="eager")).double().eval()
    state = {"transformer.wte.weight": weights["embedding.token.weight"],
             "transformer.wpe.weight": weights["embedding.position.weight"],
             "transformer.ln_f.weight": weights["final_norm.gain"],
             "transformer.ln_f.bias": weights["final_norm.bias"],
             "lm_head.weight": weights["embedding.token.weight"]}
    for layer in range(sizes.layers):
        theirs, ours = f"transformer.h.{layer}", f"blocks.{layer}"
        for their_norm, our_norm in (("ln_1", "norm_1"), ("ln_2", "norm_2")):
            state[f"{theirs}.{their_norm}.weight"] = weights[f"{ours}.{our_norm}.gain"]
            state[f"{theirs}.{their_norm}.bias"] = weights[f"{ours}.{our_norm}.bias"]
        for kind in ("weight", "bias"):  # their layers are [in, out]
            fused = torch.cat([weights[f"{ours}.attention.{part}.{kind}"] for part in ("query", "key", "value")])
            state[f"{theirs}.attn.c_attn.{kind}"] = fused.T if kind == "weight" else fused
            for their_name, our_name in (("attn.c_proj", "attention.output"), ("mlp.c_fc", "mlp.up"),
                                         ("mlp.c_proj", "mlp.down")):
                x = weights[f"{ours}.{our_name}.{kind}"]
                state[f"{theirs}.{their_name}.{kind}"] = x.T if kind == "weight" else x
    model.load_state_dict(state)
    return model(tokens).logits


class DoubleTorch:
    """The torch module, except that what asks for single precision gets double."""

    float = float32 = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


def llama_of_transformers(sizes, weights, tokens):
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.models.llama import modeling_llama

    modeling_llama.torch = DoubleTorch()  # their norm, softmax and rotary angles are pinned to single precision
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=sizes.vocab, hidden_size=sizes.width, intermediate_size=sizes.mlp_width,
        num_hidden_layers=sizes.layers, num_attention_heads=sizes.heads, num_key_value_heads=sizes.kv_heads,
        head_dim=sizes.head_width, max_position_embeddings=sizes.context, rms_norm_eps=sizes.norm_epsilon,
        rope_parameters={"rope_type": "default", "rope_theta": sizes.rotary_base}, tie_word_embeddings=False,
        attention_bias=False, mlp_bias=False, attn_implementation="eager")).double().eval()
    state = {"model.embed_tokens.weight": weights["embedding.token.weight"],
             "model.norm.weight": weights["final_norm.gain"], "lm_head.weight": weights["head.weight"]}
    names = {"input_layernorm.weight": "norm_1.gain", "post_attention_layernorm.weight": "norm_2.gain",
             "self_attn.q_proj.weight": "attention.query.weight", "self_attn.k_proj.weight": "attention.key.weight",
             "self_attn.v_proj.weight": "attention.value.weight", "self_attn.o_proj.weight": "attention.output.weight",
             "mlp.gate_proj.weight": "mlp.gate.weight", "mlp.up_proj.weight": "mlp.up.weight",
             "mlp.down_proj.weight": "mlp.down.weight"}
    for layer in range(sizes.layers):
        for theirs, ours in names.items():
            state[f"model.layers.{layer}.{theirs}"] = weights[f"blocks.{layer}.{ours}"]
    model.load_state_dict(state)
    return model(tokens).logits


def check_against_transformers(sizes, weights, tokens, logits_of_transformers):
    with torch.no_grad():
        difference = (logits_of(sizes, weights, tokens) - logits_of_transformers(sizes, weights, tokens)).abs().max()
    print(f"  largest difference of logits from transformers: {difference:.2e}")
    if not difference <= 1e-12:
        sys.exit("the model of this script and that of transformers differ: nothing is written")


def train_under_autocast(sizes, first_weights, tokens, targets, counted):
    """First gradients, and the losses before each step and after the last, in mixed precision."""
    weights = {name: x.float().requires_grad_() for name, x in first_weights.items()}
    moments = {name: (torch.zeros_like(x), torch.zeros_like(x)) for name, x in weights.items()}

    def loss_now():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = logits_of(sizes, weights, tokens)
        log_probability = logits.float().log_softmax(-1)
        of_target = log_probability.gather(-1, targets[..., None])[..., 0]
        return -(of_target * counted.float()).sum() / counted.sum().float()

    losses, first_gradients = [], None
    for step in range(1, AUTOCAST_STEPS + 1):
        loss = loss_now()
        gradients = dict(zip(weights, torch.autograd.grad(loss, list(weights.values()))))
        first_gradients = first_gradients or gradients
        total = math.sqrt(sum((x.double() ** 2).sum().item() for x in gradients.values()))
        losses.append(loss.item())
        adamw(weights, gradients, moments, step, min(1.0, OPTIMIZER["clip_norm"] / total))
    losses.append(loss_now().item())
    return first_gradients, losses


def make(path, sizes, logits_of_transformers, seed):
    print(path)
    generator = torch.Generator().manual_seed(seed)
    weights = draw(sizes, generator)
    tokens = torch.randint(sizes.vocab, (3, sizes.context), generator=generator)
    targets = torch.randint(sizes.vocab, (3, sizes.context), generator=generator)
    counted = (torch.rand(3, sizes.context, generator=generator) > 0.25).double()
    counted[1, 5:] = 0  # rows of unequal counts
    check_against_transformers(sizes, weights, tokens, logits_of_transformers)

    moments = {name: (torch.zeros_like(x), torch.zeros_like(x)) for name, x in weights.items()}
    losses, norms, first_gradients = [], [], None
    first_weights = {name: x.detach().clone() for name, x in weights.items()}
    for step in range(1, STEPS + 1):
        loss = loss_of(sizes, weights, tokens, targets, counted)
        gradients = dict(zip(weights, torch.autograd.grad(loss, list(weights.values()))))
        if first_gradients is None:
            first_gradients = gradients
        total = math.sqrt(sum((x * x).sum().item() for x in gradients.values()))
        losses.append(loss.item())
        norms.append(total)
        adamw(weights, gradients, moments, step, min(1.0, OPTIMIZER["clip_norm"] / total))
    losses.append(loss_of(sizes, weights, tokens, targets, counted).item())
    print("  losses", " ".join(f"{x:.4f}" for x in losses), " norms", " ".join(f"{x:.3f}" for x in norms))

    small = draw(sizes, generator, deviation=0.05)
    exact = dict(zip(small, torch.autograd.grad(loss_of(sizes, small, tokens, targets, counted), list(small.values()))))
    small = {name: x.detach() for name, x in small.items()}
    autocast_gradients, autocast_losses = train_under_autocast(sizes, small, tokens, targets, counted)
    worst = max(((autocast_gradients[name] - x).norm() / x.norm()).item() for name, x in exact.items()
                if not name.endswith("key.bias"))
    print(f"  autocast: losses {autocast_losses[0]:.4f} ... {autocast_losses[-1]:.4f}, gradients within {worst:.2e}")

    with h5py.File(path, "w") as file:
        file.attrs["deck"] = sizes.toml()
        for name, value in OPTIMIZER.items():
            file.attrs[name] = value
        file["input"] = tokens.numpy().astype(np.int32)
        file["targets"] = targets.numpy().astype(np.int32)
        file["loss_weights"] = counted.numpy().astype(np.float32)
        file["losses"] = np.array(losses)
        file["gradient_norms"] = np.array(norms)
        for name in weights:
            file[f"weights/{name}"] = first_weights[name].numpy().astype(np.float32)
            file[f"gradients/{name}"] = first_gradients[name].numpy()
            file[f"final/{name}"] = weights[name].detach().numpy()
            file[f"autocast/weights/{name}"] = small[name].numpy().astype(np.float32)
            file[f"autocast/gradients/{name}"] = autocast_gradients[name].numpy()
        file["autocast/losses"] = np.array(autocast_losses)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "tests/reference")
    torch.set_num_threads(1)
    make(folder / "golden_gpt2.h5", GPT2, gpt2_of_transformers, seed=1)
    make(folder / "golden_llama.h5", LLAMA, llama_of_transformers, seed=2)


if __name__ == "__main__":
    main()
