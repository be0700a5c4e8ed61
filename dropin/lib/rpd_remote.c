/* librpd_remote.so of RPD, answered by Sonde: in a program that is being recorded, SIGUSR1 starts
 * and SIGUSR2 stops recording (rpdRemote.sh sends them). A program that handles these signals
 * itself keeps them. The handlers do no more than the agent's own start and stop, which are one
 * atomic addition. */
#define _GNU_SOURCE
#include <signal.h>

#include "sonde/sonde.h"

static const struct sonde_functions* recording;

static void switch_recording(int number) {
  if (recording == NULL) return;
  if (number == SIGUSR1 && !recording->recording()) recording->start();
  if (number == SIGUSR2 && recording->recording()) recording->stop();
}

__attribute__((constructor)) static void take_signals(void) {
  static const int kSignals[] = {SIGUSR1, SIGUSR2};
  recording = sonde_api();
  for (int i = 0; i < 2; ++i) {
    struct sigaction now;
    if (sigaction(kSignals[i], NULL, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    now.sa_handler = switch_recording;
    now.sa_flags = SA_RESTART;
    sigemptyset(&now.sa_mask);
    sigaction(kSignals[i], &now, NULL);
  }
}
