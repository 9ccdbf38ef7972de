package schedule

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"
)

const (
	packVersion = "1:"    // begins a pack of this version
	maxPack     = 1 << 20 // bytes of an unpacked pack
	endFields   = 9       // fields of an end that are packed as numbers
	maxFields   = 100     // the same of a later version
)

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
