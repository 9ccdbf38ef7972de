package bounds_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/bounds"
)

type inner struct {
	Name string `json:"name" bound:"whole=4"`
	PID  int    `json:"pid"`
}

type Embedded struct {
	Note string `json:"note" bound:"shown=6"`
}

type sample struct {
	Embedded
	Title  string          `json:"title,omitempty" bound:"line=4"`
	Text   string          `json:"text" bound:"lines=6"`
	Link   string          `json:"link" bound:"plain=4"`
	Kind   string          `json:"kind" bound:"word"`
	Branch string          `json:"branch" bound:"keep whole=4"`
	Owner  inner           `json:"owner" bound:"keep"`
	Other  inner           `json:"other"`
	Small  int             `json:"small" bound:"max=3"`
	Count  int             `json:"count"`
	Tokens int64           `json:"tokens"`
	Took   time.Duration   `json:"took" bound:"max=1000"`
	At     time.Time       `json:"at"`
	Whole  []string        `json:"whole" bound:"list=2 whole=4"`
	Notes  []string        `json:"notes" bound:"list=2 line=4"`
	Kept   []string        `json:"kept" bound:"keep list=1 whole=4"`
	List   []inner         `json:"list" bound:"list=2"`
	Raw    json.RawMessage `json:"raw"`
	Free   any             `json:"-"`
	Set    bool            `json:"set"`
}

func TestValuesAreBroughtWithinTheBoundsOfTheirTags(t *testing.T) {
	t.Parallel()
	utc := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		give, want sample
		err        string
	}{
		"plain values": {
			sample{Title: "a  é", Text: "a\nb", Whole: []string{"a"}, Raw: json.RawMessage("[]"), Set: true, At: utc, Kind: "not_due"},
			sample{Title: "a  é", Text: "a\nb", Whole: []string{"a"}, Raw: json.RawMessage("[]"), Set: true, At: utc, Kind: "not_due"}, "",
		},
		"a long line":             {sample{Title: "éééééé"}, sample{Title: "ééé…"}, "title: it is too long or not plain text"},
		"two lines":               {sample{Title: "a\nb"}, sample{Title: "a b"}, "title: it is too long"},
		"hidden characters":       {sample{Embedded: Embedded{"a\u202eb"}}, sample{Embedded: Embedded{"ab"}}, "note: it is too long"},
		"long text":               {sample{Text: "aaaa\nbbbb"}, sample{Text: "aaa…"}, "text: it is too long"},
		"a long name":             {sample{Other: inner{Name: "abcde"}}, sample{}, "other.name: it is too long"},
		"a hidden name":           {sample{Link: "\u202e"}, sample{}, "link: it is too long"},
		"no word":                 {sample{Kind: "a b"}, sample{}, "kind: it is too long or not plain"},
		"a kept text":             {sample{Branch: "abcde"}, sample{Branch: "abcde"}, "branch: it is too long"},
		"a kept struct":           {sample{Owner: inner{"abcde", -1}}, sample{Owner: inner{"abcde", -1}}, "owner.name: it is too long"},
		"a negative count":        {sample{Count: -1}, sample{}, "count: it is negative"},
		"a large count":           {sample{Count: math.MaxInt}, sample{Count: bounds.MaxInt}, "count: it is too large"},
		"a larger count":          {sample{Tokens: math.MaxInt64}, sample{Tokens: bounds.MaxInt64}, "tokens: it is too large"},
		"a bound of its own":      {sample{Small: 4}, sample{Small: 3}, "small: it is too large"},
		"a negative duration":     {sample{Took: -1}, sample{}, "took: it is negative"},
		"another zone":            {sample{At: utc.In(time.FixedZone("", 3600))}, sample{At: utc}, "at: the time is not in UTC"},
		"a list with a long name": {sample{Whole: []string{"abcde", "b", ""}}, sample{Whole: []string{"b"}}, "whole: 3 entries are more than the 2 allowed"},
		"a list of nothing":       {sample{Whole: []string{""}}, sample{}, "whole: an entry is too long"},
		"a list with long notes":  {sample{Notes: []string{"", "abcde"}}, sample{Notes: []string{"", "abc…"}}, "notes: an entry is too long"},
		"a kept list":             {sample{Kept: []string{"a", "b"}}, sample{Kept: []string{"a", "b"}}, "kept: 2 entries are more than the 1 allowed"},
		"a list of structs":       {sample{List: []inner{{Name: "a"}, {Name: "b", PID: -1}}}, sample{List: []inner{{Name: "a"}, {Name: "b"}}}, `list["b"].pid: it is negative`},
		"too many structs":        {sample{List: make([]inner, 3)}, sample{List: make([]inner, 3)}, "list: 3 entries are more than the 2 allowed"},
	} {
		err := bounds.Apply(&test.give)
		if diff := cmp.Diff(test.want, test.give, cmp.AllowUnexported(sample{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: got %v, want %s", name, err, test.err)
		}
	}
}

func TestACopyKeepsTheListThatItShares(t *testing.T) {
	t.Parallel()
	first := sample{Notes: []string{"abcde", "b", "c"}}
	second := first
	if bounds.Apply(&second) == nil {
		t.Error("no error")
	}
	if diff := cmp.Diff([]string{"abcde", "b", "c"}, first.Notes); diff != "" {
		t.Error(diff)
	}
}

func TestATypeWithoutBoundsIsADefect(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{
		"a text":  &struct{ Text string }{},
		"a list":  &struct{ List []string }{},
		"a map":   &struct{ Map map[string]string }{},
		"a float": &struct{ Float float64 }{},
		"a wrong word": &struct {
			Text string `bound:"loud=3"`
		}{},
		"without limit": &struct {
			Text string `bound:"line"`
		}{},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			bounds.Apply(v)
		}()
	}
}
