// Package fleet writes and reads the files by which the processes of a fleet hand work to
// each other. Package schedule decides what plan and collect do to the state, and package
// runner does it. This package decides nothing: it stores, carries, checks and bounds.
//
// # Words
//
//   - A fleet is one tick in three parts, which are processes on different machines: plan,
//     the shards, and collect.
//   - The plan claims issues for shards, in one save of the state. [Plan] is what it gives
//     them.
//   - A shard is a process that works on some of these issues, without the state. Its
//     [schedule.Owner] holds its claims.
//   - A slice is the part of the state that a shard gets: see [Slice].
//   - A result is what a shard leaves: its slice as its sessions have changed it, and its
//     part of the report. See [Result].
//   - Collect settles the results: it replaces the claims, conversations and deliveries in
//     the state by those of the results, in one save. See [schedule.State.Settle].
//   - A reserve is the share of the token budgets that the plan sets aside for a shard. It
//     is open until the result of the shard is settled. See [schedule.Reserve].
//
// # The exchange folder
//
//	plan.json                                           WritePlan, ReadPlan
//	threads/<thread>.<sessions>.jsonl.gz.sealed         the bundle: Bundle, UnpackThreads
//	results/result-<shard>/result.json                  SliceStore, ReadResults
//	results/result-<shard>/threads/<thread>…            PackThreads
//
// In GitHub Actions the plan is carried by one artifact, each result by an artifact of its
// own, and the bundle by the cache. If there are several artifacts, download-artifact makes
// a folder for each of them: see [ReadResults]. [Download] fetches the artifacts of a run that
// never collected. Where there are no artifacts, references of the repository carry the same
// files: see [Reference] and, in carry.go, [PushPlan], [PushResult], [Pull] and [Drop]. Another
// engine can use these too, or carry the folder from process to process itself.
//
// # The plan
//
// A plan gives each shard a [Slice]: a state of its own, with its claims, their
// conversations and deliveries, and the owner of these claims. The owner is the fence: a
// result changes only claims that have exactly this owner. Package store encodes a slice
// like every state: strictly checked, bounded, and without secrets.
//
// # Results
//
// A shard keeps its slice in a [SliceStore], which takes the place of the store of the
// state: each save replaces the shard's [Result], so the result of a killed shard is its
// last save. At its end a shard adds its part of the report.
//
// A job in which an agent ran wrote the result, so it is hostile input. [ReadResults] opens
// a few named paths only, and lists no folder of a shard. It follows no link, waits for no
// pipe, and reads a bounded number of bytes. It refuses a result that is not strictly in
// this format, that belongs to another shard than its folder, or that names an issue which
// the plan did not give to the shard. Texts have limits, because people read them. Shell
// commands are shown only if this program would write the same ones.
//
// # Threads
//
// A shard can resume a thread that another shard began. For that it needs one file, the
// rollout of the thread. [SliceStore.PackThreads] packs the rollouts of a shard beside its
// result, [Bundle] keeps those of the issues that continue, and [SliceStore.UnpackThreads]
// puts them into the Codex homes of the next shard. If a thread is lost or refused, the next
// session on the issue begins a new one, without the context of the old one.
//
// A rollout holds prompts and everything that the agent read, and many people can read an
// artifact or a cache. So a rollout is sealed: encrypted with a key that is derived from a
// secret, and bound to its issue and its session. The secret is the API key, which only the shards have, or
// without one another secret that is stored for the jobs (the key of an App, or of Linear). Agents have neither,
// so nobody else can read or forge a rollout. Where no secret is stored, threads stay in their shard. Collect copies it without opening it.
package fleet
