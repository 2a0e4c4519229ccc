"""The published models in the modules of the package, compared with other implementations."""

import compare_published
import pytest
import torch
import torch.nn.functional as F
from real_weights import require_weights
from torch.testing import assert_close

from attention_core.published import (
    SentenceEncoder,
    load_minilm,
    load_smollm2,
    minilm,
    minilm_folder,
    read_gguf,
    read_safetensors,
    smollm2_file,
    untrained_minilm,
)

UNUSED = {
    "embeddings.position_ids",  # 0, 1, 2, ...
    "pooler.dense.weight",
    "pooler.dense.bias",
}


@pytest.fixture(scope="module")
def encoder():
    require_weights()
    return load_minilm()


@pytest.fixture(scope="module")
def language_model():
    require_weights()
    return load_smollm2()


def test_every_published_tensor_is_used_or_named_as_unused(encoder):
    net, _ = encoder
    theirs = read_safetensors(minilm_folder() / "model.safetensors")
    e = "embeddings."
    used = {f"{e}{x}_embeddings.weight" for x in ("word", "position", "token_type")}
    for kind in ("weight", "bias"):
        used.add(f"{e}LayerNorm.{kind}")
        used |= {f"encoder.layer.{i}.{x}.{kind}" for i in range(6) for x in minilm.PARTS.values()}
    assert theirs.keys() == used | UNUSED
    assert len(theirs) == 104
    # The 104 less the 3 unused; of the segment, only the sum with the positions is kept.
    assert len(net.state_dict()) == len(used) - 1
    table = net.positions.table
    places = theirs[e + "position_embeddings.weight"].double()
    assert torch.equal(table, places + theirs[e + "token_type_embeddings.weight"][0].double())
    assert not any(p.requires_grad for p in net.parameters())
    assert not net.training


def test_the_sum_of_position_and_segment_is_not_rounded_to_float32(encoder):
    net, _ = encoder
    table = net.positions.table
    assert 1e-9 < (table - table.float().double()).abs().max() < 1e-7


def test_minilm_equals_the_encoder_of_torch(encoder):
    net, words = encoder
    ids = words(compare_published.SENTENCES[:-1])  # without the long one
    real = ids != 0
    difference = (compare_published.torch_states(net, ids) - net(ids))[real].abs().max()
    assert difference < 1e-13


def test_a_sentence_alone_and_in_a_batch_gives_the_same_vectors(encoder):
    net, words = encoder
    ids = words(compare_published.SENTENCES[:5])
    together = net(ids)
    for i, text in enumerate(compare_published.SENTENCES[:5]):
        alone = net(words([text]))[0]
        assert_close(alone, together[i, : len(alone)], rtol=0, atol=1e-13)
    vectors = net.sentence(ids)
    assert_close(vectors.norm(dim=1), torch.ones(5, dtype=torch.float64), rtol=0, atol=1e-14)
    assert_close(vectors[0], F.normalize(together[0, :7].mean(0), dim=0), rtol=0, atol=1e-13)


def test_the_fused_kernel_of_torch_gives_the_same(encoder):
    net, words = encoder
    ids = words(compare_published.SENTENCES[:5])
    fused, _ = load_minilm(minilm_folder(), attention=F.scaled_dot_product_attention)
    real = ids != 0
    assert_close(fused(ids)[real], net(ids)[real], rtol=0, atol=1e-13)


def test_two_saws_differ_by_their_places_alone(encoder):
    net, words = encoder
    ids = words(["I saw a saw."])
    out = net(ids)[0]
    assert f"{F.cosine_similarity(out[2], out[4], dim=0):.4f}" == "0.6570"
    table = net.positions.table.clone()
    net.positions.table.zero_()
    try:
        out = net(ids)[0]
        # Not to the bit: the rows of one matrix product may be summed in different orders.
        assert_close(out[2], out[4], rtol=0, atol=1e-13)
    finally:
        net.positions.table.copy_(table)


def test_smollm2_uses_every_tensor_of_the_file(language_model):
    net, _ = language_model
    _, theirs = read_gguf(smollm2_file())
    # One matrix is both embedding and output.
    assert len(theirs) == 272 == len(net.state_dict()) - 1
    assert net.output.weight is net.embedding.weight
    numbers = sum(x.numel() for x in theirs.values())
    assert numbers == 134_515_008 == sum(p.numel() for p in net.parameters())
    assert net.encoder.layers[0].self_attention.k_proj.weight.shape == (192, 576)
    assert not any(p.requires_grad for p in net.parameters())


def test_smollm2_continues_a_sentence(language_model):
    net, words = language_model
    chances = net(words("The capital of France is"))[0, -1].softmax(-1)
    assert words.text([int(chances.argmax())]) == " Paris"
    assert f"{chances.max():.4f}" == "0.7725"


def test_smollm2_token_by_token_equals_the_whole_text(language_model):
    net, words = language_model
    ids = words(compare_published.TEXTS[2])
    cache = net.new_cache()
    parts = [net(ids[:, :3], cache=cache)]
    parts += [net(ids[:, i : i + 1], cache=cache) for i in range(3, ids.shape[1])]
    assert_close(torch.cat(parts, 1), net(ids), rtol=0, atol=1e-11)


def test_the_untrained_machine_is_repeatable_and_of_the_same_shape(encoder):
    net, words = encoder
    control = untrained_minilm()
    shapes = {name: x.shape for name, x in net.state_dict().items()}
    assert {name: x.shape for name, x in control.state_dict().items()} == shapes
    same, other = untrained_minilm(dtype=torch.float32), untrained_minilm(1)
    for name, x in control.state_dict().items():
        assert torch.equal(x.float(), same.state_dict()[name])
        if x.dim() == 2:
            assert abs(x.mean()) < 1e-3
            assert abs(x.std() - 0.02) < 1e-3
            assert not torch.equal(x, other.state_dict()[name])
        else:
            assert (x == (1 if name.endswith("norm.weight") else 0)).all()
    assert control(words(["I saw a saw."])).shape == (1, 7, 384)
    with pytest.raises(TypeError, match=r"seed must be an int, got float 0.5"):
        untrained_minilm(0.5)
    with pytest.raises(TypeError, match="dtype must be a floating-point dtype"):
        untrained_minilm(dtype=torch.int64)


def test_a_sentence_encoder_refuses_what_it_cannot_read():
    with pytest.raises(TypeError, match="config must be a TransformerConfig, got int"):
        SentenceEncoder(3)
    net = untrained_minilm(dtype=torch.float32)
    with pytest.raises(TypeError, match="ids must be an integer tensor"):
        net(torch.zeros(1, 2))
    with pytest.raises(ValueError, match=r"ids from 0 to 30521, .* got 30522 in row 0"):
        net(torch.tensor([[30_522]]))
    with pytest.raises(ValueError, match="between 0 and max_len=512, got length 513"):
        net(torch.ones(1, 513, dtype=torch.long))
    with pytest.raises(ValueError, match=r"must have a token, got only padding in ids \(1, 2\)"):
        net.sentence(torch.zeros(1, 2, dtype=torch.long))


# ---- the libraries that others use; `tools/compare_published.py` prints what is found


# Their warnings are not ours.
ask_libraries = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def libraries():
    for name in compare_published.LIBRARIES:
        pytest.importorskip(name)
    require_weights()


@ask_libraries
def test_the_readers_equal_those_of_the_libraries(libraries):
    found = compare_published.compare_files()
    assert found == {
        "safetensors: tensors": 104,
        "safetensors: differ": 0,
        "gguf: tensors": 272,
        "gguf: differ": 0,
    }


@ask_libraries
def test_the_tokenizers_cut_every_line_of_the_book_as_the_library_does(libraries):
    found = compare_published.compare_tokenizers(compare_published.lines_of_the_book())
    assert found["word pieces: lines"] > 50_000 < found["byte pairs: lines"]
    assert found["word pieces: differ"] == found["byte pairs: differ"] == 0


@ask_libraries
@pytest.mark.parametrize(("dtype", "most"), [(torch.float32, 2e-5), (torch.float64, 1e-13)])
def test_minilm_equals_transformers(libraries, dtype, most):
    found = compare_published.compare_minilm(dtype)
    assert len(found) == 6
    assert max(found.values()) < most, found


@ask_libraries
def test_smollm2_equals_transformers(libraries):
    pytest.importorskip("accelerate")
    found = compare_published.compare_smollm2()
    name = "SmolLM2 float64: RoPE and norm in float64: logits"
    assert found["SmolLM2 float32: logits"] < 5e-4, found
    assert found["SmolLM2 float64: logits"] < 1e-4, found
    assert found[name] < 1e-11, found
    assert [value for key, value in found.items() if "differs" in key] == [0, 0, 0]
    assert [value for key, value in found.items() if "greedy" in key] == [True] * 3
