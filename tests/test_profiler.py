import json

import flambeau
from flambeau.profiler import ProfilerAction, profile, record_function, schedule


def test_calls_and_ranges_are_counted(tmp_path):
    with profile(record_shapes=True) as profiler, record_function("outer"):
        for _ in range(3):
            flambeau.add(flambeau.ones(2), 1)
    by_name = {event.key: event for event in profiler.key_averages()}
    assert by_name["aten::add"].count == 3 and by_name["outer"].count == 1
    assert by_name["outer"].cpu_time_total >= by_name["aten::add"].cpu_time_total
    assert [2] in next(event for event in profiler.events() if event.name == "aten::add").input_shapes
    assert "aten::add" in profiler.key_averages().table(sort_by="cpu_time_total", row_limit=3)
    path = tmp_path / "trace.json"
    profiler.export_chrome_trace(str(path))
    assert len(json.loads(path.read_text())["traceEvents"]) == len(profiler.events())


def test_schedule():
    actions = [schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1)(step).name for step in range(6)]
    assert actions == ["NONE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE"]


def test_steps_follow_the_schedule():
    found = []
    settings = {
        "schedule": schedule(wait=1, warmup=0, active=1),
        "on_trace_ready": lambda p: found.append(len(p.events())),
    }
    with profile(**settings) as profiler:
        for _ in range(4):
            flambeau.ones(1)
            profiler.step()
    assert found == [1, 1]
    assert ProfilerAction.NONE.value == 0


def test_compile_and_script_hand_back_what_they_get():
    module = flambeau.nn.Linear(2, 2)
    assert flambeau.compile(module) is module
    assert flambeau.jit.script(module) is module
    assert flambeau.jit.trace(module, flambeau.ones(1, 2)) is module
    assert flambeau.compile(mode="max-autotune")(abs) is abs
    assert flambeau.jit.isinstance({"a": [1]}, dict[str, list[int]])
    assert not flambeau.jit.isinstance({"a": ["b"]}, dict[str, list[int]])
