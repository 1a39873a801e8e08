"""The arithmetic of a plan and its verdict, on made-up facts: nothing here is timed."""

import dataclasses

import pytest

from regard.config import Config
from regard.planning.estimate import estimate, fits_memory, largest_batch, with_teachers
from regard.planning.facts import Costs, Epoch, Facts, Memory, Speed
from regard.planning.machine import Machine
from regard.planning.plan import Plan
from regard.planning.verdict import HOPELESS_PARAMETERS_PER_TOKEN, judge, smaller_batch
from regard.planning.words import gigabytes, long_duration, short

GB = 1_000_000_000
MACHINE = Machine(cores=2, memory=10 * GB, disk=100 * GB, load=0.1)
FACTS = Facts(
    machine=MACHINE,
    device="cpu",
    pairs=10_000,
    sampled=10_000,
    exact=True,
    vocabulary=(8000, 8000),
    vocabulary_from="learned from all the text",
    parameters={"embeddings": 1_000_000, "encoder": 400_000, "decoder": 600_000},
    epoch=Epoch(pairs=10_000, batches=100, source_tokens=180_000, target_tokens=200_000, longest=64),
    processes=2,
    threads=1,
    memory=Memory(fixed=0.5 * GB, per_token=100_000, shared=0.2 * GB),
    killed_at=None,
    speed=Speed(tokens_per_second=4_000, steps=10, batch_tokens=4096, accumulate=2, processes=2),
    costs=Costs(
        preparation_seconds=20,
        validation_seconds=5,
        checkpoint_seconds=1,
        checkpoint_bytes=30_000_000,
        prepared_bytes=5_000_000,
    ),
)


def config(**train) -> Config:
    settings = dict(batch_tokens=4096, accumulate=2, max_steps=1000, validate_every=100, keep_last=2, keep_best=1)
    return Config.model_validate({"train": {**settings, **train}})


def plan(facts: Facts = FACTS, **train) -> Plan:
    made = config(**train)
    expected = estimate(made, facts)
    return Plan(made, facts, expected, judge(made, facts, expected))


def changed(**changes) -> Facts:
    return dataclasses.replace(FACTS, **changes)


def with_memory(size: float | None) -> Facts:
    return changed(machine=dataclasses.replace(MACHINE, memory=size))


def test_time_is_that_of_steps_validations_checkpoints_and_preparation():
    expected = plan().expected
    assert expected.steps_per_epoch == 50
    assert expected.tokens_per_step == 4000
    assert expected.epochs == 20
    assert expected.validations == 10
    assert expected.time is not None
    assert expected.time.step == 1.0
    assert expected.time.training == 1000
    assert expected.time.validating == 11 * 5  # the best weights are judged once more
    assert expected.time.total == 1000 + 55 + 10 + 20


def test_steps_of_one_pass_count_half():
    whole, part = (plan(consistency=2.0, consistency_after=steps).expected.time for steps in (0, 400))
    assert part.training == 0.8 * whole.training
    assert plan(consistency_after=400).expected.time == plan().expected.time


def test_steps_without_a_teacher_count_three_quarters():
    taught = dict(self_distillation=0.5, ema=0.99)
    whole, part = (plan(**taught, self_distillation_after=steps).expected.time for steps in (0, 400))
    assert part.training == 0.9 * whole.training


def test_steps_with_candidates_count_a_pass_for_each_and_the_search():
    plain, risky = (plan(risk=risk, risk_after=700, risk_candidates=4).expected.time for risk in (0.0, 1.0))
    assert risky.training == pytest.approx((1 + 0.3 * 4.5) * plain.training)
    twice = plan(risk=1.0, risk_after=700, risk_candidates=4, consistency=1.0).expected.time
    assert twice.training == pytest.approx((1 + 0.3 * 2.25) * plain.training)


def test_epochs_can_end_a_run_before_its_steps():
    expected = plan(max_epochs=4).expected
    assert (expected.steps, expected.epochs) == (200, 4)


def test_an_epoch_smaller_than_a_step_is_one_step():
    expected = plan(accumulate=400).expected
    assert expected.steps_per_epoch == 1
    assert expected.tokens_per_step == 200_000


def test_disk_holds_the_kept_checkpoints_and_the_one_being_written():
    expected = plan().expected
    assert expected.checkpoints == 4
    assert expected.disk == 4 * 30_000_000 + 2 * 4 * 2_000_000 + 5_000_000
    assert plan(average_last=5).expected.checkpoints == 7
    assert plan(average_last=5, average_best=4).expected.checkpoints == 10
    assert plan(max_steps=100).expected.checkpoints == 2


def test_memory_is_a_line_through_two_measurements():
    memory = Memory.through((1000, 0.6 * GB), (4000, 0.9 * GB), shared=0.1 * GB)
    assert memory.fixed == pytest.approx(0.5 * GB)
    assert memory.needed(2000, 1) == pytest.approx(0.7 * GB)
    assert memory.needed(2000, 3) == pytest.approx(0.1 * GB + 3 * 0.4 * GB + 0.2 * GB)
    assert memory.largest_batch(0.7 * GB, 1) == pytest.approx(2000, abs=1)
    assert memory.raised(2000, 0.8 * GB).needed(2000, 1) == pytest.approx(0.8 * GB)
    assert memory.raised(2000, 0.1 * GB) == memory


def test_what_fits_is_said_to_fit():
    made = plan()
    assert made.verdict.level == "fits"
    assert made.exit_code == 0
    assert made.verdict.reasons == ()


def test_the_largest_batch_fits_and_is_told_where_it_is_useful():
    room = largest_batch(FACTS)
    assert room == 82_000  # 9 - 0.2 - 2 * 0.3 GB, at 100 kB a token
    assert fits_memory(FACTS, room, 2)
    assert not fits_memory(FACTS, room + 1000, 2)
    assert any("82,000" in note for note in plan().verdict.notes)
    assert not any("82,000" in note for note in plan(batch_tokens=60_000).verdict.notes)
    assert largest_batch(with_memory(None)) is None


def test_a_batch_that_does_not_fit_is_divided_and_keeps_the_tokens_of_a_step():
    facts = with_memory(1.6 * GB)
    made = plan(facts, batch_tokens=12_000)
    assert made.verdict.level == "change"
    assert made.exit_code == 3
    assert made.verdict.proposal == ("train.batch_tokens=6000", "train.accumulate=4", "train.processes=2")
    assert fits_memory(facts, 6000, 2)
    assert not fits_memory(facts, 7000, 2)
    assert "train.batch_tokens=6000" in made.to_text()


def test_one_process_where_two_have_no_room():
    proposal = smaller_batch(config(), with_memory(0.93 * GB))
    assert proposal == ("train.batch_tokens=2048", "train.accumulate=4", "train.processes=1")


def test_more_processes_than_were_tried_are_not_proposed():
    tried = dataclasses.replace(FACTS.speed, batch_tokens=1024, processes=2)
    made = plan(changed(processes=8, killed_at=4096, speed=tried))
    assert made.verdict.proposal == ("train.batch_tokens=1024", "train.accumulate=8", "train.processes=2")
    assert plan(changed(processes=8)).verdict.proposal == ("train.processes=2",)


def test_a_batch_that_killed_a_trial_does_not_fit_whatever_the_arithmetic_says():
    tried = dataclasses.replace(FACTS.speed, batch_tokens=1024)
    made = plan(changed(killed_at=4096, speed=tried))
    assert made.verdict.level == "change"
    assert "ran out of memory" in made.verdict.reasons[0]
    assert made.verdict.proposal == ("train.batch_tokens=1024", "train.accumulate=8", "train.processes=2")
    assert largest_batch(made.facts) == 1000


def test_memory_that_never_suffices_is_hopeless():
    made = plan(with_memory(0.4 * GB))
    assert made.verdict.level == "hopeless"
    assert made.exit_code == 4
    assert "memory does not suffice" in made.verdict.reasons[0]


def test_without_any_step_there_is_no_time_and_no_hope():
    made = plan(changed(speed=None, costs=None))
    assert made.verdict.level == "hopeless"
    assert made.expected.time is None
    assert "Hopeless" in made.to_text()
    assert made.to_json()["expected"]["time"] is None


def test_months_are_hopeless_and_weeks_are_noted():
    months = plan(max_steps=9_000_000)
    assert months.verdict.level == "hopeless"
    assert "In 90 days this machine makes 7," in months.verdict.reasons[0]
    crowded = changed(machine=dataclasses.replace(MACHINE, load=8.0))
    assert plan(crowded, max_steps=9_000_000).verdict.level == "fits"
    weeks = plan(max_steps=900_000)
    assert weeks.verdict.level == "fits"
    assert any("is long" in note for note in weeks.verdict.notes)


def test_teachers_that_take_months_are_hopeless():
    own = plan().expected
    month = dataclasses.replace(own, time=dataclasses.replace(own.time, training=40 * 86_400.0))
    assert with_teachers(own, []).time.total == own.time.total
    verdict = judge(config(), FACTS, with_teachers(own, [month] * 3))
    assert verdict.level == "hopeless"
    assert verdict.reasons[0].startswith("With the teachers that are trained first it would take")


def test_a_model_that_drowns_its_text_is_hopeless():
    per_token = HOPELESS_PARAMETERS_PER_TOKEN
    made = plan(changed(parameters={"encoder": 200_000 * per_token + 1}))
    assert made.verdict.level == "hopeless"
    assert "by heart" in made.verdict.reasons[0]
    many = plan(changed(parameters={"encoder": 200_000 * per_token}))
    assert many.verdict.level == "fits"
    assert any("parameters for every token" in note for note in many.verdict.notes)


def test_a_full_disk_needs_a_change():
    made = plan(changed(machine=dataclasses.replace(MACHINE, disk=1_000_000)))
    assert made.verdict.level == "change"
    assert "make room" in made.verdict.reasons[0]
    assert made.verdict.proposal == ()


def test_less_than_an_epoch_a_busy_machine_and_a_gpu_are_noted():
    made = plan(changed(machine=dataclasses.replace(MACHINE, load=3.0), device="cuda"), max_steps=10)
    notes = " ".join(made.verdict.notes)
    assert "20% of the text" in notes
    assert "busy" in notes
    assert "cuda" in notes


@pytest.mark.parametrize(
    "facts",
    [
        FACTS,
        with_memory(None),
        with_memory(1.6 * GB),
        changed(speed=None, costs=None),
        changed(exact=False, vocabulary=(300, 300), machine=dataclasses.replace(MACHINE, load=9.0)),
    ],
)
def test_all_is_on_one_screen(facts):
    lines = plan(facts, batch_tokens=8000, max_steps=900_000).to_text().splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 79


def test_sizes_and_times_in_words():
    assert [gigabytes(size) for size in (0, 312e6, 999.6e6, 4.13e9, 1204e9)] == [
        "0 MB",
        "312 MB",
        "1.0 GB",
        "4.1 GB",
        "1,204 GB",
    ]
    hour, day = 3600, 86_400
    assert [long_duration(time) for time in (40, 2 * hour + 300, 3 * day + 4 * hour, 20 * day, 400 * day)] == [
        "40 s",
        "2 h 05 min",
        "3 days 4 h",
        "20 days",
        "13 months",
    ]
    assert long_duration(4000 * day) == "11 years"
    assert [short(seconds) for seconds in (0.084, 2.14, 75.4)] == ["0.084 s", "2.1 s", "75 s"]
