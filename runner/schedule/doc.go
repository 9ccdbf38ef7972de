// Package schedule decides what should happen now. It is pure: no I/O, no
// clock, no goroutine; the same input gives the same output. The runner calls
// it, performs what it says, and tells it what came of it.
//
// # The claim map
//
// [State] holds one [Claim] per issue that anybody works on or will work on
// again. A claim is in one of four phases, so the specification's "claimed =
// running or retrying" (SPEC §7.1) holds by construction:
//
//	unclaimed ──Dispatch──▶ running ──Stop──▶ stopping ──exit, dropped──▶ unclaimed
//	    ▲                    │   │ exit          │ exit, to be retried
//	    │        input needed│   ▼               ▼
//	    │        budget spent│  waiting ◀────────┘     waiting ──due, eligible, room: Dispatch──▶ running
//	    │        no progress ▼   ↺ due, but no room: it stays due
//	    └──Release────────── parked      released when somebody changes the issue, it leaves the
//	                                     active states, or an operator says so
//
// A stopped session keeps its slot until its process is dead: that is what
// "stopping" is for.
//
// # Planning
//
// [Plan] makes three ordered passes: reconcile what runs (SPEC §8.5), settle
// what waits or is parked, start what is new (SPEC §8.2). It returns decisions
// and changes nothing; [State.Apply] carries a decision into the state. The
// caller saves the state before it performs any effect, so that a claim is
// durable before an agent starts. Planning again on the result, with the same
// knowledge and time, decides nothing more.
//
// A claim that is due but finds no room, or whose issue could not be read, is
// left as it is: being due, it goes first when room comes. The specification's
// requeue (SPEC §8.4) is then nothing to do, and [Explain] says what it waits for.
//
// Everything else that happens to a claim is one of: [State.Heartbeat] (a sign of
// life), [State.Reclassify] and [State.Exit] (a session ended), [State.Adopt] (its owner died),
// [State.Retry], [State.Release] and [State.Resume] (an operator's word).
//
// Scheduling never looks at why a read failed. What is not known is left as it
// is: a failed refresh keeps sessions running, a failed list starts nothing.
package schedule
