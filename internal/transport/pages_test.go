package transport

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestPagesAreBoundedInEachTenMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p Pages
		for period := range 2 {
			for n := range 100 {
				if !p.Take(false) {
					t.Fatalf("period %d: page %d is refused", period, n)
				}
			}
			if p.Take(false) || !p.Take(true) {
				t.Errorf("period %d: after 100 pages only what was begun may go on", period)
			}
			time.Sleep(10*time.Minute - time.Nanosecond)
			if p.Take(false) {
				t.Errorf("period %d: it ended early", period)
			}
			time.Sleep(time.Nanosecond)
		}
	})
}
