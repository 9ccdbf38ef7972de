// Package fleet holds what the processes of a fleet give each other, as files in an
// exchange folder. A fleet is one tick in three parts: a plan claims issues for shards,
// each shard works on its issues without the state, and a collector applies what the
// shards leave. Package schedule decides what plan and collect do, package runner does
// it. Here it is written, carried and read.
//
// # The exchange folder
//
//	plan.json                                           WritePlan, ReadPlan
//	threads/<thread>.jsonl.gz.sealed                    the bundle: Bundle, UnpackThreads
//	results/result-<shard>/result.json                  SliceStore, ReadResults
//	results/result-<shard>/threads/<thread>…            PackThreads
//
// In GitHub Actions the plan travels as an artifact, what is below results as one
// artifact per shard, and the bundle in the cache. download-artifact makes a folder for
// each of several artifacts; see [ArtifactName]. Any other engine may carry the same
// folder.
//
// # The plan
//
// A plan gives each shard a [Slice]: a state of its own, with its claims, their
// conversations and deliveries, and the owner of these claims. The owner is the fence:
// what a shard leaves counts for claims of exactly this owner only. A slice is stored by
// package store, as every state is: strictly checked, bounded, and without secrets.
//
// # Results
//
// A shard keeps its slice in a [SliceStore], which takes the place of the store of the
// state: each save replaces the shard's [Result], so a killed shard leaves what it had
// saved. At its end it adds what the report of the tick needs.
//
// A result was written by a job in which an agent ran, so it is hostile input.
// [ReadResults] looks for results in a few named places only, so it neither lists nor
// walks a folder of a shard. It follows no link, waits for no pipe, and reads a
// bounded number of bytes. It refuses a result that is not strictly of this form, that is
// of another shard than its folder, or that speaks of an issue which the plan did not
// give to the shard. Texts are for people and have their limits. Shell commands are shown
// only if they are those that this program itself writes.
//
// # Threads
//
// A shard resumes the thread of an issue that another one began. What that takes is one
// file, the rollout of the thread: [SliceStore.PackThreads] packs the rollouts of a shard into its
// result, [Bundle] collects those of the issues that go on, and [SliceStore.UnpackThreads] puts
// them into the Codex homes of the next shard. A lost or refused thread costs its
// context and nothing else: the next session begins a new one.
//
// A rollout holds prompts and all that the agent read, and many may read an artifact or a
// cache. So it is sealed: encrypted with a key that is derived from the API key, which the
// shards have and no agent, and bound to its issue. Nobody else can read or forge it. The
// collector only carries it.
package fleet
