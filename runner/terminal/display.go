package terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/symphony-runner/symphony/runner/progress"
)

const (
	redraw  = 500 * time.Millisecond // time between two looks for a change, see [model.Update]
	fps     = 5                      // frames a second that bubbletea looks for, such as the one after a resize
	maxKept = 1000                   // log lines kept until they are printed
)

// Options are the parts and settings of a display.
type Options struct {
	Screen  *os.File  // the terminal; log lines go there too
	Keys    io.Reader // the terminal's input, if it is one
	Environ []string  // environment, which names the colors of the terminal
	Redact  func(string) string
	// Interrupt is called for the key q, each time, and has the effect of Ctrl-C.
	Interrupt func()
	LogFile   string // place of the whole log, for people; empty for none
	Dumps     bool   // SIGQUIT ends the program with a dump of its goroutines; else somebody else obeys it
}

// Display shows a run on a terminal until Close. Its methods may be used concurrently.
type Display struct {
	o       Options
	signals chan os.Signal // Ctrl-Z, and Ctrl-\ with Dumps: their default would leave the terminal as it is
	done    chan struct{}  // closed when signals is read no more

	close   sync.Once
	turning sync.Mutex // held while the terminal is taken over or given back

	mu       sync.Mutex
	progress progress.Progress
	log      []string
	dropped  int // log lines that are not kept any more
	ending   bool
	failed   error   // first error of a write
	screen   *screen // nil while the ordinary screen is shown
}

// screen is the part of the terminal's state that a display holds while it draws.
type screen struct {
	program *tea.Program
	ended   chan struct{}
	keys    *keys
}

// Possible reports whether the display can be shown: f is a terminal with a size, and we
// are its foreground job, which alone may change its modes. A serial line has no size.
func Possible(f *os.File) bool {
	columns, rows := Size(f)
	return columns > 0 && rows > 0 && isForeground(int(f.Fd()))
}

// Start takes over the terminal.
func Start(o Options) *Display {
	d := &Display{o: o, signals: make(chan os.Signal, 1), done: make(chan struct{})}
	d.enter()
	signal.Notify(d.signals, syscall.SIGTSTP)
	if o.Dumps {
		signal.Notify(d.signals, syscall.SIGQUIT)
	}
	go d.obey()
	return d
}

// Show replaces the content, from the next frame.
func (d *Display) Show(p progress.Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.progress = p
}

// End shows from now on that the run is being ended.
func (d *Display) End() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ending = true
	if d.screen != nil {
		go d.screen.program.Send(changed{})
	}
}

// Write adds log lines. They are shown above the rest, and stay on the ordinary screen
// when the display is over.
func (d *Display) Write(text []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.screen == nil {
		return d.print(text)
	}
	for line := range bytes.Lines(text) {
		d.log = append(d.log, string(bytes.TrimSuffix(line, []byte("\n"))))
	}
	if over := len(d.log) - maxKept; over > 0 {
		d.log = append([]string(nil), d.log[over:]...)
		d.dropped += over
	}
	return len(text), nil
}

// print writes to the ordinary screen. d.mu must be held.
func (d *Display) print(text []byte) (int, error) {
	n, err := d.o.Screen.Write(text)
	if d.failed == nil {
		d.failed = err
	}
	return n, err
}

// Err returns the reason why log lines were lost; nil when none was.
func (d *Display) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// Close gives the terminal back as it was and prints the log lines. Later lines are printed at
// once. When any call returns, the lines are printed.
func (d *Display) Close() {
	d.close.Do(func() {
		signal.Stop(d.signals)
		close(d.signals)
		<-d.done
		d.leave()
	})
}

// obey gives the terminal back before it obeys a signal: SIGTSTP suspends the program until the
// user returns, SIGQUIT ends it with a dump of its goroutines if [Options] say so. If the
// program continues in the background, the display is back once it is in the foreground, of
// which no signal tells.
func (d *Display) obey() {
	defer close(d.done)
	inBackground := false
	for {
		var look <-chan time.Time
		if inBackground {
			look = time.After(redraw)
		}
		select {
		case sig, ok := <-d.signals:
			if !ok {
				return
			}
			d.leave()
			if sig == syscall.SIGQUIT {
				signal.Reset(syscall.SIGQUIT)
				_ = syscall.Kill(syscall.Getpid(), syscall.SIGQUIT)
				continue
			}
			suspend()
			inBackground = true // assumed until the next look finds it in the foreground
		case <-look:
		}
		if inBackground && Possible(d.o.Screen) {
			inBackground = false
			d.enter()
		}
	}
}

// suspend stops the process until it is continued.
func suspend() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
	<-continued
}

func (d *Display) enter() {
	d.turning.Lock()
	defer d.turning.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &screen{ended: make(chan struct{})}
	if f, ok := d.o.Keys.(*os.File); ok {
		s.keys = readKeys(f, d.key)
	}
	s.program = tea.NewProgram(model{d: d},
		tea.WithInput(nil), // see package doc: nothing is asked, and Ctrl-C stays a signal
		tea.WithOutput(d.o.Screen), tea.WithEnvironment(d.o.Environ), tea.WithoutSignalHandler(), tea.WithFPS(fps))
	d.screen = s
	go func() {
		defer close(s.ended)
		if _, err := s.program.Run(); err != nil { // bubbletea has restored the screen
			go d.leave()
		}
	}()
}

func (d *Display) leave() {
	d.turning.Lock()
	defer d.turning.Unlock()
	d.mu.Lock()
	s := d.screen
	d.mu.Unlock()
	if s == nil {
		return
	}
	s.program.Quit()
	<-s.ended
	s.keys.close()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dropped > 0 {
		_, _ = d.print(fmt.Appendf(nil, "… %d earlier lines are in %s\n", d.dropped, d.o.LogFile))
	}
	for _, line := range d.log {
		_, _ = d.print([]byte(line + "\n"))
	}
	d.log, d.dropped, d.screen = nil, 0, nil
}

func (d *Display) key(b byte) {
	if b == 'q' || b == 'Q' {
		d.o.Interrupt()
	}
}

func (d *Display) frame(now time.Time) Frame {
	d.mu.Lock()
	defer d.mu.Unlock()
	noKeys := d.screen == nil || d.screen.keys == nil
	return Frame{Progress: d.progress, Now: now, Log: d.log, Ending: d.ending, NoKeys: noKeys, Redact: d.o.Redact}
}

// outline represents the parts of a frame of which a change is drawn at the next tick. It
// leaves out the parts that change all the time: clocks, numbers of tokens, and the work of
// sessions.
type outline struct {
	sessions, waiting, parked, elsewhere, trouble, log int
	pause                                              string
	event                                              time.Time // the latest
	ending                                             bool
}

func (d *Display) outline() outline {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := &d.progress
	o := outline{len(p.Sessions), len(p.Waiting), len(p.Parked), len(p.Elsewhere), len(p.Trouble), d.dropped + len(d.log), p.Pause.Why, time.Time{}, d.ending}
	if n := len(p.Events); n > 0 {
		o.event = p.Events[n-1].At
	}
	return o
}

// model draws the display.
type model struct {
	d             *Display
	columns, rows int
	content       string
	outline       outline // outline of the content
	skipped       bool    // the last tick drew nothing
}

// changed asks for a new frame now. tick asks for one, and for the next tick.
type (
	changed struct{}
	tick    time.Time
)

func next() tea.Cmd { return tea.Tick(redraw, func(t time.Time) tea.Msg { return tick(t) }) }

// Init implements [tea.Model].
func (m model) Init() tea.Cmd { return next() }

// Update implements [tea.Model]. A frame of a large window takes milliseconds of processor,
// most of them to compare its cells with those on the screen. So the parts that change all the
// time are drawn at every second tick only.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	current := m.d.outline()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.columns, m.rows = msg.Width, msg.Height
	case changed:
	case tick:
		cmd = next()
		if current == m.outline && !m.skipped {
			m.skipped = true
			return m, cmd
		}
	default:
		return m, nil
	}
	m.outline, m.skipped = current, false
	m.content = m.d.frame(time.Now()).Render(m.columns, m.rows)
	return m, cmd
}

// View implements [tea.Model].
func (m model) View() tea.View {
	v := tea.NewView(m.content)
	v.AltScreen, v.DisableBracketedPasteMode = true, true
	return v
}
