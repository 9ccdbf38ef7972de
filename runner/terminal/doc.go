// Package terminal shows the work of a run on a terminal (SPEC §13.4).
//
// [Frame] is one picture: a pure function of a [progress.Progress], a time and a size.
// [Display] draws frames on the alternate screen while a run lasts. Rules:
//
//   - A frame has the size of the window whatever it shows. A line never wraps: a terminal
//     that is made smaller wraps what was drawn inline before anybody can draw it again,
//     and the pieces stay in its scrollback. The alternate screen has none of that.
//   - Log lines are above the rest as far as there is room. All of them are printed to the
//     ordinary screen, once, when the display ends: there they stay.
//   - Text from outside is made harmless, then secrets are hidden in it, then it is cut. Only
//     what is drawn is treated.
//   - Nothing is asked of the terminal, because its answers would be read by the shell
//     when the program ends first.
//   - Signals stay signals: the terminal turns Ctrl-C and Ctrl-Z into them, also while
//     the display is stuck.
package terminal
