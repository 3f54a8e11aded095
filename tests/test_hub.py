import os

import pytest

import flambeau


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "parts.py").write_text("WIDTH = 3\n")
    (tmp_path / "hubconf.py").write_text(
        "dependencies = ['json']\nimport parts\n"
        "def small(factor=1):\n    '''A small one.'''\n    return parts.WIDTH * factor\n"
        "def _hidden():\n    pass\n"
    )
    return tmp_path


def test_local_folders(folder):
    hub = flambeau.hub
    assert hub.load(folder, "small", source="local", factor=2) == 6
    assert hub.list(folder) == ["small"] and hub.help(folder, "small") == "A small one."
    for name in ("missing", "_hidden"):
        with pytest.raises(RuntimeError, match="no model"):
            hub.load(folder, name, source="local")
    with pytest.raises(ValueError, match="source"):
        hub.load(folder, "small", source="elsewhere")


def test_nothing_is_downloaded(tmp_path):
    with pytest.raises(RuntimeError, match="nothing is downloaded"):
        flambeau.hub.load("someone/something", "model")
    with pytest.raises(RuntimeError, match="nothing is downloaded"):
        flambeau.hub.load_state_dict_from_url("https://example.org/weights.pt", model_dir=str(tmp_path))
    flambeau.save({"w": 1}, tmp_path / "weights.pt")
    assert flambeau.hub.load_state_dict_from_url("https://example.org/weights.pt", str(tmp_path)) == {"w": 1}


def test_missing_packages_are_named(folder):
    (folder / "hubconf.py").write_text("dependencies = ['no_such_package']\ndef model():\n    return 1\n")
    with pytest.raises(RuntimeError, match="no_such_package"):
        flambeau.hub.load(folder, "model", source="local")


def test_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr(flambeau.hub, "_directory", None)
    assert flambeau.hub.get_dir() == os.path.join(tmp_path, "hub")
    flambeau.hub.set_dir(tmp_path / "elsewhere")
    assert flambeau.hub.get_dir() == str(tmp_path / "elsewhere")
