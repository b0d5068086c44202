/* launch.h - the commands of vramtrace-record. All return the exit status. */
#ifndef VT_LAUNCH_H
#define VT_LAUNCH_H

/* argv[0] is "record": runs a program under capture. */
int vt_launch_record(int argc, char **argv);
/* argv[0] is "collect": goes on with a session whose recorder died. */
int vt_launch_collect(int argc, char **argv);
/* argv[0] is "ctl": controls a running recording. */
int vt_launch_ctl(int argc, char **argv);
/* argv[0] is "doctor": says whether capture will work here. */
int vt_launch_doctor(int argc, char **argv);

#endif
