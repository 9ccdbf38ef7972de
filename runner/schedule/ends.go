package schedule

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// Course sums up the work on an issue from its first session until its pull request is merged
// or closed. It is for statistics: no plan depends on it.
type Course struct {
	Ready    time.Time `json:"ready,omitzero"`   // time since which a run knew that the issue is ready, see [State.Queued]; zero if it is not known
	Opened   time.Time `json:"opened,omitzero"`  // time of the push with which its pull request was opened; zero for none
	Sessions int       `json:"begun,omitempty"`  // sessions that started
	Failed   int       `json:"failed,omitempty"` // sessions that were charged as failures
	Rounds   int       `json:"rounds,omitempty"` // sessions on new feedback
	Usage    Usage     `json:"usage,omitzero"`   // tokens of all its sessions; not reset as [Claim].Tokens is
	Done     bool      `json:"done,omitempty"`   // its end as [EndDone] is recorded
}

// End is the kind of an end of the work on an issue.
type End string

// The ends. An issue can have several: it is parked, goes on, and is merged.
const (
	EndMerged End = "merged" // its pull request was merged
	EndClosed End = "closed" // its pull request was closed without a merge
	EndDone   End = "done"   // it was completed without a pull request
	EndParked End = "parked" // it waits for a person
)

// The reasons of parked issues in an [IssueEnd], besides [NeedsInput], [Commanded], [IssueBudget]
// and [RoundsSpent].
const (
	ParkedForIdle     = Reason("idle")     // its sessions changed nothing
	ParkedForFailures = Reason("failures") // its sessions failed
)

// IssueEnd describes an end of the work on an issue, with the course up to it. It is for people
// only: no plan depends on it.
type IssueEnd struct {
	Issue  string    `json:"issue,omitempty" bound:"line=100"` // identifier
	End    End       `json:"end" bound:"word"`
	Reason Reason    `json:"reason,omitempty" bound:"word"` // reason of a parked issue; empty otherwise
	At     time.Time `json:"at,omitzero"`
	Course
}

// EndsInPack is the number of ends in a pack.
const EndsInPack = 100

// recentEnds is the number of ends from which on the oldest are packed. The rest is left as it
// is, so that [State.Excuse] can still take back an end of this tick.
const recentEnds = EndsInPack + 25

// maxPacks bounds the packs of ends that the state keeps.
const maxPacks = 128

// addEnd records an end of the work of a claim.
func (s *State) addEnd(c Claim, end End, why Reason, at time.Time) {
	s.appendEnd(IssueEnd{Issue: c.Identifier, End: end, Reason: why, At: at.UTC().Truncate(time.Second), Course: c.Course})
}

// addParked records that a claim was parked.
func (s *State) addParked(c Claim, why Reason, at time.Time) {
	if why == Closed {
		s.addEnd(c, EndClosed, "", at)
		return
	}
	s.addEnd(c, EndParked, why, at)
}

// appendEnd makes a new list: the state of an earlier clone shares the old one.
func (s *State) appendEnd(e IssueEnd) {
	s.Ends = append(slices.Clone(s.Ends), e)
	if len(s.Ends) < recentEnds {
		return
	}
	packs := append(slices.Clone(s.PackedEnds), pack(s.Ends[:EndsInPack]))
	s.PackedEnds, s.Ends = packs[max(len(packs)-maxPacks, 0):], s.Ends[EndsInPack:]
}

// takeBackParked removes the last end of a claim if it says that the claim was parked.
func (s *State) takeBackParked(c Claim) {
	for i := len(s.Ends) - 1; i >= 0; i-- {
		if s.Ends[i].Issue != c.Identifier {
			continue
		}
		if s.Ends[i].End == EndParked {
			s.Ends = slices.Delete(slices.Clone(s.Ends), i, i+1)
		}
		return
	}
}

// parkedFor returns the reason why a session that has ended with an outcome leaves a parked claim.
func parkedFor(c Claim, o Outcome, next Next) Reason {
	switch {
	case c.StopReason.parks():
		return c.StopReason
	case next.Why.Reason == IssueBudget:
		return IssueBudget
	case o.Class == NeedsInput:
		return Reason(NeedsInput)
	case o.Class == Done:
		return ParkedForIdle
	}
	return ParkedForFailures
}

// noteOpened notes the time at which the pull request of an issue was opened.
func (s *State) noteOpened(id tracker.ID, at time.Time) {
	if c, claimed := s.Claims[id]; claimed {
		c.Course.Opened = at.UTC().Truncate(time.Second)
		s.Claims[id] = c
	}
}

// boundBy returns the course as far as the sessions of a shard can have changed it since the
// plan. An agent may have written it.
func (c Course) boundBy(planned Course, limit int64) Course {
	c.Ready, c.Sessions = planned.Ready, min(c.Sessions, planned.Sessions)
	c.Usage = planned.Usage.Plus(c.Usage.since(planned.Usage).atMost(limit))
	return c
}

// settleEnds takes over the ends of an issue from the slice of a shard. A shard works on it once,
// and so can complete it and park it.
func (s *State) settleEnds(slice *State, planned Claim, limit int64) {
	var ends []IssueEnd
	for _, e := range slice.Ends {
		if e.Issue == planned.Identifier && (e.End == EndDone || e.End == EndParked || e.End == EndClosed) {
			e.Course = e.Course.boundBy(planned.Course, limit)
			ends = append(ends, e)
		}
	}
	for _, e := range ends[max(len(ends)-2, 0):] {
		s.appendEnd(e)
	}
}

// packVersion begins a pack of this version.
const packVersion = "1:"

// maxPack bounds the bytes of an unpacked pack.
const maxPack = 1 << 20

// packedEnds holds ends so that they take little room, and little time to read.
type packedEnds struct {
	Issues  []string  `json:"issues"` // one for each end
	Kinds   []endKind `json:"kinds"`
	Tariffs []Tariff  `json:"tariffs,omitempty"`
	Fields  int       `json:"fields"` // numbers of an end before its tariffs; a later version may add some behind [endFields]

	// numbers follows in the pack, behind a line break. It has a row of varints for each end: its
	// fields, the number of its tariffs, and six numbers for each of them, which are its index in
	// Tariffs and the tokens.
	numbers []byte
	at      int64 // time of the last end that was packed or taken
}

type endKind struct {
	End    End    `json:"end"`
	Reason Reason `json:"reason,omitempty"`
}

// endFields is the number of fields of an end that are packed as numbers.
const endFields = 9

// fields returns the fields of an end as numbers. Times are seconds: since the end before, and
// from the other ones to the end, see [ago].
func (p *packedEnds) fields(e IssueEnd) []int64 {
	before := p.at
	p.at = e.At.Unix()
	return []int64{
		int64(indexIn(&p.Kinds, endKind{e.End, e.Reason})), p.at - before, ago(p.at, e.Ready), ago(p.at, e.Opened),
		int64(e.Sessions), int64(e.Failed), int64(e.Rounds), e.Usage.Input, e.Usage.Output,
	}
}

// ago returns the seconds from t to at, one more unless t is later, so that 0 stands for no time.
func ago(at int64, t time.Time) int64 {
	seconds := at - t.Unix()
	if t.IsZero() {
		return 0
	} else if seconds >= 0 {
		return seconds + 1
	}
	return seconds
}

// fromAgo returns the time for which [ago] returned n.
func fromAgo(at, n int64) time.Time {
	switch {
	case n == 0:
		return time.Time{}
	case n > 0:
		n--
	}
	return time.Unix(at-n, 0).UTC()
}

// indexIn returns the index of a value in a list, to which it is added if it is missing.
func indexIn[T comparable](list *[]T, value T) int {
	at := slices.Index(*list, value)
	if at < 0 {
		at, *list = len(*list), append(*list, value)
	}
	return at
}

// pack returns ends as one line of text: [packedEnds], compressed, in base64.
func pack(ends []IssueEnd) string {
	p := packedEnds{Fields: endFields}
	for _, e := range ends {
		p.Issues = append(p.Issues, e.Issue)
		row := append(p.fields(e), int64(len(e.Usage.Tariffs)))
		for _, u := range e.Usage.Tariffs {
			row = append(row, int64(indexIn(&p.Tariffs, u.Tariff)), u.Input, u.Cached, u.CacheWrite, u.Output, u.Reasoning)
		}
		for _, n := range row {
			p.numbers = binary.AppendVarint(p.numbers, n)
		}
	}
	var packed bytes.Buffer
	w, _ := flate.NewWriter(&packed, flate.BestCompression) // fails for a wrong level alone
	_ = json.NewEncoder(w).Encode(p)                        // into memory, with a line break
	_, _ = w.Write(p.numbers)
	_ = w.Close()
	return packVersion + base64.RawStdEncoding.EncodeToString(packed.Bytes())
}

// unpack returns the ends in a pack. It fails for one that is damaged, or of a newer version.
func unpack(text string, inflate io.ReadCloser) ([]IssueEnd, error) {
	text, ok := strings.CutPrefix(text, packVersion)
	if !ok {
		return nil, errors.New("a newer version wrote it, or it is damaged")
	}
	data, err := base64.RawStdEncoding.DecodeString(text)
	if err == nil {
		err = inflate.(flate.Resetter).Reset(bytes.NewReader(data), nil)
	}
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(inflate, maxPack))
	}
	var p packedEnds
	if err == nil {
		data, p.numbers, _ = bytes.Cut(data, []byte("\n"))
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		return nil, err
	}
	if len(p.Issues) > EndsInPack || p.Fields < endFields || p.Fields > maxFields {
		return nil, errors.New("it has too many ends, or too few fields")
	}
	ends := make([]IssueEnd, len(p.Issues))
	for i, issue := range p.Issues {
		if ends[i], err = p.next(issue); err != nil {
			return nil, err
		}
	}
	return ends, nil
}

// maxFields bounds the fields of an end that a later version packs as numbers.
const maxFields = 100

var errCutPack = errors.New("its numbers are cut")

// take returns the next n numbers, and removes them. It fails for a negative one, unless its index
// is in the range of times.
func (p *packedEnds) take(n, times, others int) ([]int64, error) {
	row := make([]int64, n)
	for i := range row {
		value, length := binary.Varint(p.numbers)
		if length <= 0 || value < 0 && (i < times || i >= others) {
			return nil, errCutPack
		}
		row[i], p.numbers = value, p.numbers[length:]
	}
	return row, nil
}

// next returns the next end, and removes its numbers.
func (p *packedEnds) next(issue string) (IssueEnd, error) {
	n, err := p.take(p.Fields+1, 1, 4)
	if err != nil || n[0] >= int64(len(p.Kinds)) || n[p.Fields] > maxTariffs+1 {
		return IssueEnd{}, errCutPack
	}
	usage := Usage{Input: n[7], Output: n[8]}
	for range n[p.Fields] {
		u, err := p.take(6, 0, 0)
		if err != nil || u[0] >= int64(len(p.Tariffs)) {
			return IssueEnd{}, errCutPack
		}
		usage.Tariffs = append(usage.Tariffs, TariffUsage{p.Tariffs[u[0]], u[1], u[2], u[3], u[4], u[5]})
	}
	kind := p.Kinds[n[0]]
	p.at += n[1]
	return IssueEnd{Issue: issue, End: kind.End, Reason: kind.Reason, At: time.Unix(p.at, 0).UTC(), Course: Course{
		Ready: fromAgo(p.at, n[2]), Opened: fromAgo(p.at, n[3]), Sessions: int(n[4]), Failed: int(n[5]), Rounds: int(n[6]), Usage: usage,
	}}, nil
}

// AllEnds returns the ends that the state keeps, oldest first as they were recorded, and the
// number of packs that cannot be read.
func (s *State) AllEnds() (ends []IssueEnd, unread int) {
	ends = make([]IssueEnd, 0, len(s.PackedEnds)*EndsInPack+len(s.Ends))
	inflate := flate.NewReader(nil)
	for _, packed := range s.PackedEnds {
		some, err := unpack(packed, inflate)
		if err != nil {
			unread++
			continue
		}
		ends = append(ends, some...)
	}
	return append(ends, s.Ends...), unread
}

// maxQueued bounds the issues in [State.Queued].
const maxQueued = 500

// Queued says which issues lack nothing but room, or start now, in this order.
type Queued struct {
	IDs []tracker.ID
	At  time.Time
}

// QueuedBy returns the issues that lack nothing but room by the verdicts of a plan, or that it
// starts.
func QueuedBy(verdicts []Verdict, now time.Time) Queued {
	q := Queued{At: now}
	for _, v := range verdicts {
		if v.Phase == "" && (v.Action == Dispatch || v.Action == "" && v.Why.Reason.lacksRoom()) && len(q.IDs) < maxQueued {
			q.IDs = append(q.IDs, v.Issue.ID)
		}
	}
	return q
}

// Apply replaces the queue, and keeps the times of the issues that were in it.
func (c Queued) Apply(s *State, _ Policy) {
	queued := make(map[tracker.ID]time.Time, len(c.IDs))
	for _, id := range c.IDs {
		queued[id] = c.At.UTC().Truncate(time.Second)
		if since, known := s.Queued[id]; known {
			queued[id] = since
		}
	}
	s.Queued = queued
}

func (c Queued) String() string { return fmt.Sprintf("%d issues lack nothing but room", len(c.IDs)) }

// Changes reports whether the queue of a state has other issues.
func (c Queued) Changes(s *State) bool {
	return len(c.IDs) != len(s.Queued) || slices.ContainsFunc(c.IDs, func(id tracker.ID) bool {
		_, known := s.Queued[id]
		return !known
	})
}

// begin notes when the work on an issue could have begun for the first time: its first session
// starts now.
func (c *Course) begin(queued map[tracker.ID]time.Time, id tracker.ID, now time.Time) {
	c.Ready = now.UTC().Truncate(time.Second)
	if since, known := queued[id]; known {
		c.Ready = since
	}
}
