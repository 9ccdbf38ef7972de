package report

import (
	"slices"
	"strconv"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/tracker"
)

// document holds the blocks of a report in the order in which they are read. A
// [textWriter] and a [markdownWriter] print the same document.
type document []block

func (d *document) add(blocks ...block) { *d = append(*d, blocks...) }

// endsInSection reports whether what is added now would read as a part of a section.
func (d document) endsInSection() bool {
	if len(d) == 0 {
		return false
	}
	_, is := d[len(d)-1].(section)
	return is
}

// block is a headline, paragraph, list, table, command, code or section.
type block interface {
	writeText(*textWriter)
	writeMarkdown(*markdownWriter)
}

// headline is the verdict on a tick. It begins its document.
type headline struct {
	emoji  string // emoji that only pages show
	lead   string
	detail string // what there is to say about lead; may be empty
	totals string // outcomes and cost of the issues; may be empty
}

// paragraph is running text.
type paragraph phrase

// command is a shell command to copy, made of our own words alone. It ends a
// sentence.
type command struct{ sentence, line string }

// code holds shell commands that may have the words of others, one a line.
type code []string

// section is a heading and what stands below it.
type section struct {
	heading string // our own words, and so is detail
	detail  string // behind the heading and a colon; may be empty
	folded  bool   // a page shows the heading only, until it is clicked
	body    document
}

// list is a list of items.
type list struct {
	items []item
	left  int // items that are left out
}

// maxTexts is how many errors, warnings and notices are shown.
const maxTexts = 20

// listOf returns a list of the texts of others, and the number of those that are too many.
func listOf(texts []string) list {
	l := list{left: max(0, len(texts)-maxTexts)}
	for _, text := range texts[:min(len(texts), maxTexts)] {
		l.items = append(l.items, item{text: phrase{foreign(text)}})
	}
	return l
}

// item is one entry of a list.
type item struct {
	count int // the number of issues that it stands for; 0 is an item without a number
	text  phrase
	sub   []phrase
	left  int  // number of sub that are left out
	long  bool // sub is shown at length; a terminal wraps it instead of cutting it
}

// lines returns the number of lines that a list takes on a page.
func (l list) lines() int {
	n := min(l.left, 1)
	for _, item := range l.items {
		n += 1 + len(item.sub) + min(item.left, 1)
	}
	return n
}

// table is rows of cells in columns. Columns without any text are left out.
type table struct {
	columns []column
	rows    []tableRow
	left    int // rows that are left out
	room    int // bytes that the rows may take on a page
	short   int // rows that a terminal shows; 0 is all of them
}

func (t *table) move(from, to int) {
	t.columns = moved(t.columns, from, to)
	for i := range t.rows {
		t.rows[i].cells = moved(t.rows[i].cells, from, to)
	}
}

func moved[T any](list []T, from, to int) []T {
	one := list[from]
	return slices.Insert(slices.Delete(list, from, from+1), to, one)
}

// tableRow is a row of a table.
type tableRow struct {
	cells   []phrase
	remarks []remark
}

// remark is a remark on a row. A terminal shows it below the row, a page below
// the table.
type remark struct {
	text    string
	lines   int    // the most that the text takes on a terminal
	command string // shell command behind the text; empty for none
	linked  bool   // it is an address that the row links to, so a page does not show it
}

func (t *table) add(cells ...phrase) { t.rows = append(t.rows, tableRow{cells: cells}) }

// column is one column of a table.
type column struct {
	head  string
	kind  columnKind
	min   int  // width that it needs on a terminal to be useful; 0 is that of its text
	max   int  // width at which it yields room to others; 0 is that of its text
	page  bool // it is shown on pages alone
	drop  int  // order in which columns are dropped on a narrow terminal, 1 first; 0 is never dropped
	width int  // the most columns that a page shows of a cell; 0 is nameWidth
	prose bool // the cells are sentences, which stand below their rows on a terminal without room
}

// columnKind says how a column is printed.
type columnKind int

const (
	textColumn    columnKind = iota
	numberColumn             // aligned to the right
	instantColumn            // as time from now on a terminal, in UTC on a page
)

// phrase is a paragraph, an item or a cell: spans without anything between them.
type phrase []span

// span is a piece of text. The zero value is empty.
type span struct {
	text   string
	own    bool      // our own words, which hold no markup
	strong bool      // a page shows it in bold
	name   bool      // the name of something that a page may link to; never empty there
	url    string    // where a page links the name to; empty is nowhere
	at     time.Time // an instant instead of text; the zero time means text
}

func own(words string) span { return span{text: words, own: true} }

func strong(words string) span { return span{text: words, own: true, strong: true} }

func foreign(text string) span { return span{text: text} }

func instantSpan(at time.Time) span { return span{at: at} }

func issueName(identifier string, id tracker.ID, url string) span {
	return span{text: name(identifier, id), url: url, name: true}
}

func pullRequestLink(number int, url string) span {
	return span{text: "#" + strconv.Itoa(number), url: url, name: true}
}

func cell(text string) phrase { return phrase{foreign(text)} }

func number[T int | int64](n T) phrase { return phrase{own(text.Number(int64(n)))} }

func duration(d time.Duration) phrase { return phrase{own(text.Duration(d))} }

func (t table) forTerminal() table {
	if !slices.ContainsFunc(t.columns, func(c column) bool { return c.page }) {
		return t
	}
	all := t
	t.columns, t.rows = nil, make([]tableRow, len(all.rows))
	for i, row := range all.rows {
		t.rows[i].remarks = row.remarks
	}
	for i, c := range all.columns {
		if c.page {
			continue
		}
		t.columns = append(t.columns, c)
		for n, row := range all.rows {
			t.rows[n].cells = append(t.rows[n].cells, row.cells[i])
		}
	}
	return t
}
