#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Stage 1: libgpreempt_poc and its scheduler in Python, with an online and an offline program on
# one emulated machine.

bats_require_minimum_version 1.5.0

load poc

case_of_stage_1() {
	for kernel in gpreempt 6.12; do
		on_machine --kernel $kernel -- "$SOURCE_DIR/tests/poc/cases.py" "$@"
	done
}

@test "stage 1: queues are found by priority and tag" {
	case_of_stage_1 identification
}

@test "stage 1, case 1: requests preempt a trainer, whose results stay the same" {
	case_of_stage_1 basic
}

@test "stage 1, case 1 with work as large as the GPU needs, compared with an undisturbed run on it" {
	on_machine --cus 2 -- "$SOURCE_DIR/tests/poc/cases.py" basic --fill 1
	[[ $output == *"a trainer's steps of 1 ms: --groups 8 --rounds "* ]]
	on_machine --cus 2 -- "$SOURCE_DIR/tests/poc/cases.py" frequent --fill 1 --seconds 2
	[[ $output == *"digest "*" as undisturbed"* ]]
}

@test "stage 1, case 2: a request every 100 ms" {
	case_of_stage_1 frequent --seconds 20
}

@test "stage 1, case 3: no offline queue" {
	case_of_stage_1 no_offline_queue
}

@test "stage 1, case 3: both programs at once" {
	case_of_stage_1 both_at_once
}

@test "stage 1, case 3: many requests at once" {
	case_of_stage_1 many_at_once
}

@test "stage 1, case 3: a queue is destroyed while it is suspended" {
	case_of_stage_1 queue_destroyed
}

@test "stage 1, case 3: a program is killed while it is suspended" {
	case_of_stage_1 program_killed
}

@test "stage 1, case 3: the scheduler is killed during a suspend" {
	case_of_stage_1 scheduler_killed
}

@test "stage 1: the example program of the design, unchanged" {
	case_of_stage_1 seed_program
}

@test "stage 1: a notification every 500 ms holds the offline queues for its work only" {
	case_of_stage_1 seed_loop
}

@test "stage 1: a notified task ends with its work, and one in a block does not" {
	case_of_stage_1 work_ends_the_task
}

@test "stage 1, case 3: a task that is never ended" {
	case_of_stage_1 nobody_ends
}
