<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
  <context>
    <name>Synapse</name>
    <message>
      <location filename="../app/synapse_app/application.py"></location>
      <source>Paused from the tray</source>
      <translation>In der Taskleiste angehalten</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/application.py"></location>
      <source>Stop the service</source>
      <translation>Dienst beenden</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/application.py"></location>
      <source>{n} things are still loaded or running. Stop the service anyway?</source>
      <translation>
        <numerusform>{n} Sache ist noch geladen oder läuft. Den Dienst trotzdem beenden?</numerusform>
        <numerusform>{n} Dinge sind noch geladen oder laufen. Den Dienst trotzdem beenden?</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Certificate</source>
      <translation>Zertifikat</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Largest error of a score</source>
      <translation>Größter Fehler einer Wertung</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Likeness, at worst</source>
      <translation>Ähnlichkeit, schlechtester Wert</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Likeness, on average</source>
      <translation>Ähnlichkeit, im Mittel</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Measured</source>
      <translation>Gemessen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>On</source>
      <translation>Auf</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Reason</source>
      <translation>Grund</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Same neighbours, worst tenth</source>
      <translation>Gleiche Nachbarn, schlechtestes Zehntel</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Speed</source>
      <translation>Tempo</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Texts compared</source>
      <translation>Verglichene Texte</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>certified</source>
      <translation>zertifiziert</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>it was not probed on this machine</source>
      <translation>es wurde auf diesem Rechner nicht geprüft</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>needs none</source>
      <translation>braucht keines</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>not certified: its results differ too much</source>
      <translation>nicht zertifiziert: Die Ergebnisse weichen zu stark ab</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>not probed yet</source>
      <translation>noch nicht geprüft</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>out of date: probe it again</source>
      <translation>veraltet: bitte neu prüfen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>something changed since it was probed</source>
      <translation>seit der Prüfung hat sich etwas geändert</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>the lane is in quarantine</source>
      <translation>die Bahn ist in Quarantäne</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>{count} tokens a second</source>
      <translation>{count} Token pro Sekunde</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>{value} (limit {gate})</source>
      <translation>{value} (Grenze {gate})</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/desktop_notices.py"></location>
      <source>Open Synapse</source>
      <translation>Synapse öffnen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/desktop_notices.py"></location>
      <source>Show</source>
      <translation>Anzeigen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/desktop_notices.py"></location>
      <source>Try again</source>
      <translation>Noch einmal versuchen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/figures.py"></location>
      <source>{hours} h {minutes} min</source>
      <translation>{hours} Std. {minutes} Min.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/figures.py"></location>
      <source>{minutes} min {seconds} s</source>
      <translation>{minutes} Min. {seconds} s</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/figures.py"></location>
      <source>{n} s</source>
      <translation>
        <numerusform>{n} s</numerusform>
        <numerusform>{n} s</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/figures.py"></location>
      <source>{size}/s</source>
      <translation>{size}/s</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/figures.py"></location>
      <source>{value} ms</source>
      <translation>{value} ms</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Download failed</source>
      <translation>Download fehlgeschlagen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Job done</source>
      <translation>Auftrag fertig</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Job failed</source>
      <translation>Auftrag fehlgeschlagen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Lane in quarantine</source>
      <translation>Bahn in Quarantäne</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Lanes take requests again.</source>
      <translation>Die Bahnen nehmen wieder Anfragen an.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Model installed</source>
      <translation>Modell installiert</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Pause ended</source>
      <translation>Pause beendet</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Self-check failed</source>
      <translation>Selbstprüfung fehlgeschlagen</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/notify.py"></location>
      <source>and {n} more</source>
      <translation>
        <numerusform>und {n} weiterer</numerusform>
        <numerusform>und {n} weitere</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>unknown reason</source>
      <translation>unbekannter Grund</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>{model} could not be downloaded: {reason}</source>
      <translation>{model} konnte nicht heruntergeladen werden: {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>{model} failed twice in a row and rests for a while.</source>
      <translation>{model} ist zweimal hintereinander ausgefallen und ruht eine Weile.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>{model} gives wrong results on this machine and isn't used.</source>
      <translation>{model} rechnet auf diesem Rechner falsch und wird nicht benutzt.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>{model} is ready to use.</source>
      <translation>{model} kann benutzt werden.</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/notify.py"></location>
      <source>{n} items are done.</source>
      <translation>
        <numerusform>{n} Element ist fertig.</numerusform>
        <numerusform>{n} Elemente sind fertig.</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>&amp;Copy diagnostics</source>
      <translation>Diagnose &amp;kopieren</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Activity</source>
      <translation>Aktivität</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Diagnostics copied.</source>
      <translation>Diagnose kopiert.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Errors only</source>
      <translation>Nur Fehler</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Everything</source>
      <translation>Alles</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Information and above</source>
      <translation>Informationen und Wichtigeres</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Level</source>
      <translation>Stufe</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Log entries</source>
      <translation>Protokolleinträge</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Search the log</source>
      <translation>Protokoll durchsuchen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Warnings and errors</source>
      <translation>Warnungen und Fehler</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>{n} entries</source>
      <translation>
        <numerusform>{n} Eintrag</numerusform>
        <numerusform>{n} Einträge</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>{n} entries were dropped because they came too fast</source>
      <translation>
        <numerusform>{n} Eintrag ging verloren, weil er zu schnell kam</numerusform>
        <numerusform>{n} Einträge gingen verloren, weil sie zu schnell kamen</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/base.py"></location>
      <source>Reading…</source>
      <translation>Wird gelesen …</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/base.py"></location>
      <source>The service is older than this application. Install both in one version.</source>
      <translation>Der Dienst ist älter als dieses Programm. Installieren Sie beide in derselben Version.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/base.py"></location>
      <source>There is no connection to the service: {state}.</source>
      <translation>Es besteht keine Verbindung zum Dienst: {state}.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Apps of this user reach the service at this socket, without a key and without a network.</source>
      <translation>Apps dieses Benutzers erreichen den Dienst an diesem Socket, ohne Schlüssel und ohne Netz.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Connect</source>
      <translation>Verbinden</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Copied</source>
      <translation>Kopiert</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Copy</source>
      <translation>Kopieren</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Copy the &amp;program</source>
      <translation>&amp;Programm kopieren</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Copy the co&amp;mmand</source>
      <translation>B&amp;efehl kopieren</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Copy: {what}</source>
      <translation>Kopieren: {what}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Languages of programs</source>
      <translation>Sprachen der Programme</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Model</source>
      <translation>Modell</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>No model that embeds is installed yet; the command lines name one that isn't there.</source>
      <translation>Noch ist kein Modell zum Einbetten installiert; die Befehlszeilen nennen eines, das nicht da ist.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Node</source>
      <translation>Node</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Program: {file}</source>
      <translation>Programm: {file}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Python</source>
      <translation>Python</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Save this as {file}. It needs Node 18 or newer, and no package.</source>
      <translation>Sichern Sie das als {file}. Es braucht Node 18 oder neuer, und kein Paket.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Save this as {file}. It needs socat, or an nc that knows Unix sockets.</source>
      <translation>Sichern Sie das als {file}. Es braucht socat, oder ein nc, das Unix-Sockets kennt.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Save this as {file}. It needs the package synapse in the Python that runs it.</source>
      <translation>Sichern Sie das als {file}. Es braucht das Paket synapse in dem Python, das es ausführt.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Shell</source>
      <translation>Shell</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Socket</source>
      <translation>Socket-Pfad</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>&amp;Choose models</source>
      <translation>&amp;Modelle auswählen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>&amp;Look again</source>
      <translation>&amp;Noch einmal nachsehen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>&amp;Start with my session</source>
      <translation>Mit meiner Sitzung &amp;starten</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Compute on the &amp;processor</source>
      <translation>Auf dem &amp;Prozessor rechnen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Computing on the processor</source>
      <translation>Rechnen auf dem Prozessor</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Fixed by {variable}</source>
      <translation>Festgelegt durch {variable}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>No supported accelerator was found, so models can only run on the processor. It is slower, and works.</source>
      <translation>Es wurde kein unterstützter Beschleuniger gefunden, also können Modelle nur auf dem Prozessor laufen. Das ist langsamer und funktioniert.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Starting</source>
      <translation>Start</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Synapse runs models on this machine for all your apps. What you choose here can be changed later.</source>
      <translation>Synapse führt Modelle auf diesem Rechner für alle Ihre Apps aus. Was Sie hier wählen, können Sie später ändern.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>This machine has an accelerator, so the processor is only needed for models that don't run there.</source>
      <translation>Dieser Rechner hat einen Beschleuniger; der Prozessor wird nur für Modelle gebraucht, die dort nicht laufen.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>This processor can't compute models.</source>
      <translation>Dieser Prozessor kann keine Modelle rechnen.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Welcome to Synapse</source>
      <translation>Willkommen bei Synapse</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>What this machine can run</source>
      <translation>Was dieser Rechner kann</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Where models are kept</source>
      <translation>Wo Modelle liegen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>can run models</source>
      <translation>kann Modelle ausführen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Asked for by</source>
      <translation>Verlangt von</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Begun</source>
      <translation>Begonnen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Ended</source>
      <translation>Beendet</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Identifier</source>
      <translation>Kennung</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>It was cancelled. What it had committed stays readable.</source>
      <translation>Er wurde abgebrochen. Was er schon abgelegt hatte, bleibt lesbar.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Kept until</source>
      <translation>Aufbewahrt bis</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Pages that can be read</source>
      <translation>Lesbare Seiten</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Progress</source>
      <translation>Fortschritt</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>State</source>
      <translation>Zustand</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>an app without a name</source>
      <translation>eine App ohne Namen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>{count} a second</source>
      <translation>{count} pro Sekunde</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>{done} of {total}</source>
      <translation>{done} von {total}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>{time} left</source>
      <translation>noch {time}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>&amp;Cancel the job</source>
      <translation>Auftrag a&amp;bbrechen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>All jobs</source>
      <translation>Alle Aufträge</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>Ended</source>
      <comment>jobs</comment>
      <translation>Beendete</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>Going on</source>
      <translation>Laufende</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>Jobs</source>
      <translation>Aufträge</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>Nothing has run yet. Downloads, probes and large batches of apps appear here by themselves.</source>
      <translation>Noch ist nichts gelaufen. Downloads, Prüfungen und große Stapel von Apps erscheinen hier von selbst.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>The newest {count} jobs are shown, and all that are going on.</source>
      <translation>Gezeigt werden die neuesten {count} Aufträge und alle laufenden.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>There is no such job. Choose “All jobs” to see the others.</source>
      <translation>Es gibt keinen solchen Auftrag. Wählen Sie „Alle Aufträge“, um die anderen zu sehen.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>Which jobs are shown</source>
      <translation>Welche Aufträge gezeigt werden</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Answer time</source>
      <translation>Antwortzeit</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Computes on</source>
      <translation>Rechnet auf</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Files kept for</source>
      <translation>Dateien behalten für</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Fingerprint</source>
      <translation>Fingerabdruck</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>It gave wrong results in its self-check on this machine, so it isn't used.</source>
      <translation>Sie hat bei der Selbstprüfung auf diesem Rechner falsche Ergebnisse geliefert und wird deshalb nicht benutzt.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>It is tried again in {time}.</source>
      <translation>In {time} wird sie wieder versucht.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Last used</source>
      <translation>Zuletzt benutzt</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Memory</source>
      <translation>Speicher</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Probe it to release it.</source>
      <translation>Eine Prüfung gibt sie wieder frei.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Requests</source>
      <translation>Anfragen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Self-check</source>
      <translation>Selbstprüfung</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Stays loaded</source>
      <translation>Bleibt geladen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>The pause waits: something doesn't end ({reason})</source>
      <translation>Die Pause wartet: Etwas endet nicht ({reason})</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>This lane failed twice in a row ({reason}) and takes no requests.</source>
      <translation>Diese Bahn ist zweimal hintereinander gescheitert ({reason}) und nimmt keine Anfragen an.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Used by</source>
      <translation>Benutzt von</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>always</source>
      <translation>immer</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>answered: {count}</source>
      <translation>beantwortet: {count}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>being computed: {count}</source>
      <translation>in Arbeit: {count}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>for another {time} if nobody uses it</source>
      <translation>noch {time}, wenn niemand sie benutzt</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>nobody since it was loaded</source>
      <translation>niemandem, seit sie geladen ist</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>none</source>
      <translation>keiner</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>paused until it is resumed ({reason})</source>
      <translation>angehalten, bis sie fortgesetzt wird ({reason})</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>paused until {time}, {left} left ({reason})</source>
      <translation>angehalten bis {time}, noch {left} ({reason})</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>refused: {count}</source>
      <translation>abgelehnt: {count}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>requests: {count}</source>
      <translation>Anfragen: {count}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>until it is probed</source>
      <translation>bis zu einer Prüfung</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>usually {time}</source>
      <translation>meist {time}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>waiting: {count}</source>
      <translation>wartend: {count}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>{time} for 95 of 100</source>
      <translation>{time} bei 95 von 100</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>{time} for half of the answers</source>
      <translation>{time} bei der Hälfte der Antworten</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>&amp;Keep it loaded</source>
      <translation>Geladen &amp;lassen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>&amp;Load</source>
      <translation>&amp;Laden</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>&amp;Pause all lanes</source>
      <translation>Alle Bahnen &amp;anhalten</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>&amp;Resume all lanes</source>
      <translation>Alle Bahnen &amp;fortsetzen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>&amp;Unload</source>
      <translation>&amp;Entladen</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>For {n} minutes</source>
      <translation>
        <numerusform>Für {n} Minute</numerusform>
        <numerusform>Für {n} Minuten</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Lanes</source>
      <translation>Bahnen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Length of the pause</source>
      <translation>Dauer der Pause</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>No model is installed yet, so there is no lane. Install one, or add a model of your own.</source>
      <translation>Noch ist kein Modell installiert, also gibt es keine Bahn. Installieren Sie eines, oder fügen Sie ein eigenes hinzu.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Open the models</source>
      <translation>Modelle öffnen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Pause all lanes to have this machine's memory for something else.</source>
      <translation>Halten Sie alle Bahnen an, um den Speicher dieses Rechners für anderes zu haben.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Paused in the window</source>
      <translation>Im Fenster angehalten</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Reason of the pause</source>
      <translation>Grund der Pause</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Reason, for others to read</source>
      <translation>Grund, für andere zu lesen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Until resumed</source>
      <translation>Bis sie fortgesetzt werden</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Download</source>
      <translation>Herunterladen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>It needs {need}, and {free} are free on the disk of the models.</source>
      <translation>Es braucht {need}, und auf der Platte der Modelle sind {free} frei.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>It takes requests once a probe on this machine has certified it.</source>
      <translation>Es nimmt Anfragen an, sobald eine Prüfung auf diesem Rechner es zertifiziert hat.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Licence</source>
      <translation>Lizenz</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Longest text</source>
      <translation>Längster Text</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Made for</source>
      <translation>Gedacht für</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Models take more than the limit that is set. Remove models, or raise the limit in the settings.</source>
      <translation>Die Modelle brauchen mehr als die eingestellte Grenze. Entfernen Sie Modelle, oder erhöhen Sie die Grenze in den Einstellungen.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Models take {used} of {limit}; {free} are free on their disk.</source>
      <translation>Modelle belegen {used} von {limit}; auf ihrer Platte sind {free} frei.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Nothing on this machine can run it; the reasons are below.</source>
      <translation>Nichts an diesem Rechner kann es ausführen; die Gründe stehen unten.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>On the disk</source>
      <translation>Auf der Platte</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Only {free} are free on the disk of the models. Remove models, or move them to another folder.</source>
      <translation>Auf der Platte der Modelle sind nur {free} frei. Entfernen Sie Modelle, oder verlegen Sie sie in einen anderen Ordner.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Remove it and download it again, or use another model.</source>
      <translation>Entfernen Sie es und laden Sie es neu herunter, oder nehmen Sie ein anderes Modell.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Runs on</source>
      <translation>Läuft auf</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Size</source>
      <translation>Größe</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Source</source>
      <translation>Quelle</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>can't run on this machine</source>
      <translation>läuft nicht auf diesem Rechner</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>download failed</source>
      <translation>Herunterladen fehlgeschlagen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>everything is here and is being verified</source>
      <translation>alles ist da und wird geprüft</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>installed</source>
      <translation>installiert</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>is being removed</source>
      <translation>wird entfernt</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>kept by a pin</source>
      <translation>durch eine Markierung behalten</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>not certified</source>
      <translation>nicht zertifiziert</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>not installed</source>
      <translation>nicht installiert</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>nothing yet</source>
      <translation>noch nichts</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>outdated</source>
      <translation>veraltet</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>recommended</source>
      <translation>empfohlen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>see its page at the source</source>
      <translation>siehe Seite an der Quelle</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>self-check failed</source>
      <translation>Selbstprüfung fehlgeschlagen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>waits for its turn</source>
      <translation>wartet, bis es an der Reihe ist</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>your own model</source>
      <translation>Ihr eigenes Modell</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>{count} tokens</source>
      <translation>{count} Token</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>{device}: no, {reason}</source>
      <translation>{device}: nein, {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>{device}: yes</source>
      <translation>{device}: ja</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>{size} are arriving.</source>
      <translation>{size} treffen ein.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>{size} of it shared with other models</source>
      <translation>{size} davon gemeinsam mit anderen Modellen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Add your own model…</source>
      <translation>Eigenes Modell &amp;hinzufügen …</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Cancel the download</source>
      <translation>Herunterladen &amp;abbrechen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Certificate</source>
      <translation>&amp;Zertifikat</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Download</source>
      <translation>&amp;Herunterladen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;I know</source>
      <translation>&amp;Verstanden</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Probe</source>
      <translation>&amp;Prüfen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Remove</source>
      <translation>Ent&amp;fernen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Undo</source>
      <translation>&amp;Rückgängig</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>All models</source>
      <translation>Alle Modelle</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>Can run here</source>
      <translation>Hier lauffähig</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>For embedding</source>
      <translation>Zum Einbetten</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>For reranking</source>
      <translation>Zum Neuordnen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>It is held by {holders}. Unload it and let its work end first.</source>
      <translation>Es wird gehalten von {holders}. Entladen Sie es zuerst und lassen Sie seine Arbeit enden.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>Models</source>
      <translation>Modelle</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>No model matches. Change the search, or choose “All models”.</source>
      <translation>Kein Modell passt. Ändern Sie die Suche, oder wählen Sie „Alle Modelle“.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>On this machine</source>
      <translation>Auf diesem Rechner</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>Search the models</source>
      <translation>Modelle durchsuchen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>The fingerprint of {models} changed. Indexes that were made with the old one need re-embedding.</source>
      <translation>Der Fingerabdruck von {models} hat sich geändert. Indizes, die mit dem alten gemacht wurden, müssen neu eingebettet werden.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>Try &amp;again</source>
      <translation>&amp;Noch einmal</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>Which models are shown</source>
      <translation>Welche Modelle gezeigt werden</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>Your own</source>
      <translation>Eigene</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>{model} is about to be removed from the disk.</source>
      <translation>{model} wird gleich von der Platte entfernt.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>{model} is in use ({holders}). Unload it and let its work end first.</source>
      <translation>{model} ist in Gebrauch ({holders}). Entladen Sie es zuerst und lassen Sie seine Arbeit enden.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>&amp;Add and probe</source>
      <translation>&amp;Hinzufügen und prüfen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>&amp;Back</source>
      <translation>&amp;Zurück</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>&amp;Choose…</source>
      <translation>&amp;Auswählen …</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>A folder with model.safetensors and tokenizer.json</source>
      <translation>Ein Ordner mit model.safetensors und tokenizer.json</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Compute on</source>
      <translation>Rechnen auf</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Folder</source>
      <translation>Ordner</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Folder of a model</source>
      <translation>Ordner eines Modells</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Found: {files}</source>
      <translation>Gefunden: {files}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>It is ready to use.</source>
      <translation>Es ist einsatzbereit.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Its results are compared with the reference: {progress}</source>
      <translation>Seine Ergebnisse werden mit der Referenz verglichen: {progress}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Missing: {files}. Choose the folder that holds them.</source>
      <translation>Es fehlt: {files}. Wählen Sie den Ordner, in dem das liegt.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Name</source>
      <translation>Bezeichnung</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Pooling</source>
      <translation>Zusammenfassung</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Reading the files: {progress}</source>
      <translation>Dateien werden gelesen: {progress}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>S&amp;top</source>
      <translation>&amp;Anhalten</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>The folder can't be read: {reason}</source>
      <translation>Der Ordner kann nicht gelesen werden: {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>The service takes the files over and reads them: {progress}</source>
      <translation>Der Dienst übernimmt die Dateien und liest sie: {progress}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>What it does</source>
      <translation>Was es tut</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>first token</source>
      <translation>erstes Token</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>last token</source>
      <translation>letztes Token</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>mean of all tokens</source>
      <translation>Mittel aller Token</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>{file} can't be read: {reason}</source>
      <translation>{file} kann nicht gelesen werden: {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/playground.py"></location>
      <source>Playground</source>
      <translation>Spielwiese</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Allow grammars in text generation</source>
      <translation>Grammatiken beim Erzeugen von Text erlauben</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Compute on the processor</source>
      <translation>Auf dem Prozessor rechnen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Connections at a time</source>
      <translation>Gleichzeitige Verbindungen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Downloads</source>
      <translation>Herunterladen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>File with trusted certificates</source>
      <translation>Datei mit vertrauten Zertifikaten</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Folder for model files</source>
      <translation>Ordner für Modelldateien</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>How long results of jobs are kept</source>
      <translation>Wie lange Ergebnisse von Aufträgen bleiben</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Least severe log entries</source>
      <translation>Unwichtigste Protokolleinträge</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Let apps declare model aliases</source>
      <translation>Apps dürfen Modell-Aliase anlegen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Limits and logging</source>
      <translation>Grenzen und Protokoll</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Longest wait in the queue</source>
      <translation>Längste Wartezeit in der Schlange</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Models that are loaded at the start</source>
      <translation>Modelle, die beim Start geladen werden</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Proxy for downloads</source>
      <translation>Proxy für Downloads</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Record what engines get</source>
      <translation>Aufzeichnen, was Rechenwerke bekommen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Requests at a time on a connection</source>
      <translation>Gleichzeitige Anfragen je Verbindung</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Requests that may wait for a lane</source>
      <translation>Anfragen, die auf eine Bahn warten dürfen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Settings</source>
      <translation>Einstellungen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Size of one request</source>
      <translation>Größe einer Anfrage</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Space for model files</source>
      <translation>Platz für Modelldateien</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Speed or quiet</source>
      <translation>Schnell oder leise</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Storage</source>
      <translation>Speicherort</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Texts in one request</source>
      <translation>Texte in einer Anfrage</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>This application</source>
      <translation>Diese Anwendung</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Threads for each processor lane</source>
      <translation>Threads je Prozessorbahn</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Time for one request</source>
      <translation>Zeit für eine Anfrage</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Time of bulk work at a time</source>
      <translation>Zeit je Happen Massenarbeit</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Tokens in one request</source>
      <translation>Token in einer Anfrage</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Tokens of bulk work at a time</source>
      <translation>Token je Happen Massenarbeit</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Tokens of one generated answer</source>
      <translation>Token einer erzeugten Antwort</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Unload a lane that nobody has used for</source>
      <translation>Unbenutzte Bahn entladen nach</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Where models are downloaded from</source>
      <translation>Woher Modelle geladen werden</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/heat_map.py"></location>
      <source>Similarities</source>
      <translation>Ähnlichkeiten</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/heat_map.py"></location>
      <source>{one} and {other}: {score}</source>
      <translation>{one} und {other}: {score}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/panel.py"></location>
      <source>No model serves this yet</source>
      <translation>Dafür ist noch kein Modell da</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>A question</source>
      <translation>Eine Frage</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Answers by score</source>
      <translation>Antworten nach Punktzahl</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>At most {n} answers are scored.</source>
      <translation>
        <numerusform>Höchstens {n} Antwort wird bewertet.</numerusform>
        <numerusform>Höchstens {n} Antworten werden bewertet.</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Possible answers</source>
      <translation>Mögliche Antworten</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Possible answers, each on a line of its own</source>
      <translation>Mögliche Antworten, jede in einer eigenen Zeile</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Question</source>
      <translation>Frage</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Rerank</source>
      <translation>Sortieren</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Score</source>
      <translation>Bewerten</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Scores are the model's own, from 0 to 1, and can't be compared with those of another model.</source>
      <translation>Die Punktzahlen sind die des Modells selbst, von 0 bis 1, und nicht mit denen eines anderen Modells vergleichbar.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Cancel</source>
      <translation>Abbrechen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Choose a folder…</source>
      <translation>Ordner wählen…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Files that were left out</source>
      <translation>Ausgelassene Dateien</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Passages found</source>
      <translation>Gefundene Stellen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Reading the files…</source>
      <translation>Die Dateien werden gelesen…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Reads up to {files} UTF-8 files of up to {size}, {passages} passages in all. Nothing is stored.</source>
      <translation>Liest bis zu {files} UTF-8-Dateien von höchstens {size}, insgesamt {passages} Textstellen. Nichts wird gespeichert.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Search</source>
      <translation>Suchen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Search a folder</source>
      <translation>Ordner durchsuchen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>What do you look for?</source>
      <translation>Wonach suchen Sie?</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>a link</source>
      <translation>eine Verknüpfung</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>can't be read</source>
      <translation>nicht lesbar</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>empty</source>
      <translation>leer</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>indexed with {lane}</source>
      <translation>mit {lane} eingelesen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>not UTF-8 text</source>
      <translation>kein UTF-8-Text</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>not a file</source>
      <translation>keine Datei</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>over the limit</source>
      <translation>über der Grenze</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>too large</source>
      <translation>zu groß</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>{file}, line {line}</source>
      <translation>{file}, Zeile {line}</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>{n} files</source>
      <translation>
        <numerusform>{n} Datei</numerusform>
        <numerusform>{n} Dateien</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>{n} files left out</source>
      <translation>
        <numerusform>{n} Datei ausgelassen</numerusform>
        <numerusform>{n} Dateien ausgelassen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>{n} passages</source>
      <translation>
        <numerusform>{n} Textstelle</numerusform>
        <numerusform>{n} Textstellen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/similar.py"></location>
      <source>At most {n} texts are compared.</source>
      <translation>
        <numerusform>Höchstens {n} Text wird verglichen.</numerusform>
        <numerusform>Höchstens {n} Texte werden verglichen.</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/similar.py"></location>
      <source>Compare</source>
      <translation>Vergleichen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/similar.py"></location>
      <source>Similar texts</source>
      <translation>Ähnliche Texte</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/similar.py"></location>
      <source>Texts to compare</source>
      <translation>Texte zum Vergleichen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/similar.py"></location>
      <source>The stronger the colour, the more alike.</source>
      <translation>Je kräftiger die Farbe, desto ähnlicher.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/similar.py"></location>
      <source>Two texts or more, each on a line of its own</source>
      <translation>Zwei oder mehr Texte, jeder in einer eigenen Zeile</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>Cancelled.</source>
      <translation>Abgebrochen.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>Something still uses this model. Unload it and let its work end first.</source>
      <translation>Etwas benutzt dieses Modell noch. Entladen Sie es und lassen Sie seine Arbeit zu Ende gehen.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>Synapse is closing.</source>
      <translation>Synapse wird beendet.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The connection to the service ended. Look at the state before you try again.</source>
      <translation>Die Verbindung zum Dienst ist abgerissen. Sehen Sie nach, wie es steht, bevor Sie es noch einmal versuchen.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The download failed. Check the network and try again; what has arrived is kept.</source>
      <translation>Der Download ist fehlgeschlagen. Prüfen Sie das Netz und versuchen Sie es noch einmal; was da ist, bleibt.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The files aren't what they should be. Get them again, and then try again.</source>
      <translation>Die Dateien sind nicht, was sie sein sollten. Holen Sie sie neu, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service could not be started. Run “synapse doctor” to see what is wrong.</source>
      <translation>Der Dienst ließ sich nicht starten. „synapse doctor“ zeigt, woran es liegt.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service could not write to its disk. Make sure that the disk isn't full.</source>
      <translation>Der Dienst konnte nicht auf seine Platte schreiben. Sehen Sie nach, ob sie voll ist.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service did not answer in time. It may be busy; try again, or restart it.</source>
      <translation>Der Dienst hat nicht rechtzeitig geantwortet. Vielleicht ist er beschäftigt; versuchen Sie es noch einmal oder starten Sie ihn neu.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service is not running. Start it from the tray menu.</source>
      <translation>Der Dienst läuft nicht. Starten Sie ihn über das Menü des Symbols.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service is too busy at the moment. Try again shortly.</source>
      <translation>Der Dienst ist gerade überlastet. Versuchen Sie es gleich noch einmal.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service stopped while this was going on. Start it again.</source>
      <translation>Der Dienst endete, während dies lief. Starten Sie es noch einmal.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service was asked to stop and still runs. Try again, or end its process.</source>
      <translation>Der Dienst sollte enden und läuft noch. Versuchen Sie es noch einmal oder beenden Sie seinen Prozess.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service's socket belongs to somebody else or can't be opened. Run “synapse doctor” to see who owns it.</source>
      <translation>Der Socket des Dienstes gehört jemand anderem oder lässt sich nicht öffnen. „synapse doctor“ zeigt, wem er gehört.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>This lane is paused. Resume it, or wait until the pause ends.</source>
      <translation>Diese Bahn ist angehalten. Setzen Sie sie fort oder warten Sie das Ende der Pause ab.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>This machine can't run that model.</source>
      <translation>Auf diesem Rechner läuft das Modell nicht.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>This model failed its self-check on this machine, so it isn't used.</source>
      <translation>Dieses Modell hat seine Selbstprüfung auf diesem Rechner nicht bestanden und wird nicht benutzt.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>Too much is waiting for this lane. Try again shortly.</source>
      <translation>Für diese Bahn wartet zu viel. Versuchen Sie es gleich noch einmal.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>Tray and service don't understand each other. Install both in one version.</source>
      <translation>Symbol und Dienst verstehen einander nicht. Installieren Sie beide in derselben Version.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Awake again: the lanes are being checked…</source>
      <translation>Wieder wach: die Bahnen werden geprüft…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Close tray</source>
      <translation>Symbol schließen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Close tray (the service keeps running)</source>
      <translation>Symbol schließen (der Dienst läuft weiter)</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Looking for the service…</source>
      <translation>Der Dienst wird gesucht …</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Pause all lanes</source>
      <translation>Alle Bahnen anhalten</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Ready</source>
      <translation>Bereit</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Resume all lanes</source>
      <translation>Alle Bahnen fortsetzen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Service {version} is another version than this</source>
      <translation>Dienst {version} hat eine andere Version als dies hier</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Settings…</source>
      <translation>Einstellungen …</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Start the service</source>
      <translation>Dienst starten</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Stop the service…</source>
      <translation>Dienst beenden …</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service doesn't answer</source>
      <translation>Der Dienst antwortet nicht</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service has another version</source>
      <translation>Der Dienst hat eine andere Version</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service is not running</source>
      <translation>Der Dienst läuft nicht</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service is starting…</source>
      <translation>Der Dienst startet …</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service is stopping…</source>
      <translation>Der Dienst endet …</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service was stopped</source>
      <translation>Der Dienst wurde beendet</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service's socket can't be used</source>
      <translation>Der Socket des Dienstes ist nicht benutzbar</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>loading</source>
      <translation>lädt</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>paused</source>
      <translation>angehalten</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>ready</source>
      <translation>bereit</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>{lane} — {state}</source>
      <translation>{lane} — {state}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>{model} — {progress}</source>
      <translation>{model} — {progress}</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/tray.py"></location>
      <source>{n} downloads running</source>
      <translation>
        <numerusform>{n} Download läuft</numerusform>
        <numerusform>{n} Downloads laufen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/tray.py"></location>
      <source>{n} jobs running</source>
      <translation>
        <numerusform>{n} Auftrag läuft</numerusform>
        <numerusform>{n} Aufträge laufen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/tray.py"></location>
      <source>{n} lanes loaded</source>
      <translation>
        <numerusform>{n} Bahn geladen</numerusform>
        <numerusform>{n} Bahnen geladen</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/autostart_box.py"></location>
      <source>That could not be changed: {reason}</source>
      <translation>Das ließ sich nicht ändern: {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Appearance</source>
      <translation>Erscheinungsbild</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>As the system</source>
      <translation>Wie das System</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Dark</source>
      <translation>Dunkel</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Full</source>
      <translation>Voll</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Language</source>
      <translation>Sprache</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Light</source>
      <translation>Hell</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Motion</source>
      <translation>Bewegung</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Notify me when a download is done or failed</source>
      <translation>Melden, wenn ein Download fertig oder fehlgeschlagen ist</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Notify me when a job is done or failed</source>
      <translation>Melden, wenn ein Auftrag fertig oder fehlgeschlagen ist</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Notify me when a lane goes into quarantine</source>
      <translation>Melden, wenn eine Bahn in Quarantäne geht</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Notify me when a pause ends</source>
      <translation>Melden, wenn eine Pause endet</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Notify me when a self-check fails</source>
      <translation>Melden, wenn eine Selbstprüfung fehlschlägt</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Reduced</source>
      <translation>Verringert</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Show the welcome page again</source>
      <translation>Begrüßungsseite wieder zeigen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Start with my session</source>
      <translation>Mit meiner Sitzung starten</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Text size</source>
      <translation>Textgröße</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Balanced</source>
      <comment>a setting</comment>
      <translation>Ausgewogen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Changed from {default}</source>
      <translation>Geändert, Standard: {default}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Default</source>
      <translation>Standard</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>GB</source>
      <comment>gigabytes, after a number</comment>
      <translation>GB</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>MB</source>
      <comment>megabytes, after a number</comment>
      <translation>MB</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Performance</source>
      <comment>a setting</comment>
      <translation>Leistung</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Quiet</source>
      <comment>a setting</comment>
      <translation>Leise</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Use default</source>
      <translation>Standard nehmen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Use the default of {setting}</source>
      <translation>Standard nehmen: {setting}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>h</source>
      <comment>hours, after a number</comment>
      <translation>Std.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>min</source>
      <comment>minutes, after a number</comment>
      <translation>Min.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>nothing</source>
      <translation>nichts</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>off</source>
      <translation>aus</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>on</source>
      <translation>an</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>s</source>
      <comment>seconds, after a number</comment>
      <translation>s</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>takes effect when the service starts again</source>
      <translation>gilt nach dem nächsten Start des Dienstes</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>{low} to {high}</source>
      <translation>{low} bis {high}</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>{n} in the configuration file</source>
      <translation>
        <numerusform>{n} in der Konfigurationsdatei</numerusform>
        <numerusform>{n} in der Konfigurationsdatei</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Another service uses this folder. Stop that one.</source>
      <translation>Ein anderer Dienst benutzt diesen Ordner. Beenden Sie jenen.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>In use.</source>
      <translation>In Gebrauch.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>It is too late to take the move back.</source>
      <translation>Das Verschieben kann nicht mehr zurückgenommen werden.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Move the models…</source>
      <translation>Modelle verschieben…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Move them to the usual folder</source>
      <translation>In den üblichen Ordner verschieben</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Moving to {folder}: {share}</source>
      <translation>Verschieben nach {folder}: {share}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Moving to {folder}: {share}, {time} left</source>
      <translation>Verschieben nach {folder}: {share}, noch {time}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>One of the two folders lies in the other. Choose one beside it.</source>
      <translation>Einer der beiden Ordner liegt im anderen. Wählen Sie einen daneben.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Something else lies in that folder. Choose an empty one.</source>
      <translation>In diesem Ordner liegt etwas anderes. Wählen Sie einen leeren.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Take the move back</source>
      <translation>Verschieben zurücknehmen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The disk can't be written. Make it writable.</source>
      <translation>Auf die Platte kann nicht geschrieben werden. Machen Sie sie beschreibbar.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The folder isn't there. Plug in its disk, or choose another folder.</source>
      <translation>Der Ordner ist nicht da. Schließen Sie seine Platte an oder wählen Sie einen anderen Ordner.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The last files are being put in order…</source>
      <translation>Die letzten Dateien werden eingeräumt…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The last move failed: {reason}</source>
      <translation>Das letzte Verschieben schlug fehl: {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The last move was taken back.</source>
      <translation>Das letzte Verschieben wurde zurückgenommen.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The models are being moved.</source>
      <translation>Die Modelle werden gerade verschoben.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The models are in that folder already.</source>
      <translation>Die Modelle sind schon in diesem Ordner.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The models of this folder are used.</source>
      <translation>Die Modelle dieses Ordners werden verwendet.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The models were moved.</source>
      <translation>Die Modelle wurden verschoben.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The move is being taken back…</source>
      <translation>Das Verschieben wird zurückgenommen…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The setting was changed, but the models lie elsewhere. Move them, or use what is here.</source>
      <translation>Die Einstellung wurde geändert, aber die Modelle liegen woanders. Verschieben Sie sie oder verwenden Sie, was hier ist.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>There are models in that folder already. Use them instead of moving yours there.</source>
      <translation>In diesem Ordner liegen schon Modelle. Verwenden Sie diese, statt Ihre dorthin zu verschieben.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>There are no models in that folder.</source>
      <translation>In diesem Ordner sind keine Modelle.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>There is no such folder. Make it first.</source>
      <translation>Diesen Ordner gibt es nicht. Legen Sie ihn zuerst an.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>There is not enough space on that disk.</source>
      <translation>Auf dieser Platte ist nicht genug Platz.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>These are other models than before. Put the right disk back, or use these.</source>
      <translation>Das sind andere Modelle als vorher. Schließen Sie die richtige Platte an oder verwenden Sie diese.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>This folder can't be used: it is open to other users, or holds something else.</source>
      <translation>Dieser Ordner ist nicht verwendbar: andere Benutzer haben Zugriff, oder er enthält etwas anderes.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Use the models of a folder…</source>
      <translation>Modelle eines Ordners verwenden…</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>{n} files are missing: download their models again.</source>
      <translation>
        <numerusform>{n} Datei fehlt: laden Sie ihr Modell noch einmal herunter.</numerusform>
        <numerusform>{n} Dateien fehlen: laden Sie ihre Modelle noch einmal herunter.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>{n} files were damaged and are set aside.</source>
      <translation>
        <numerusform>{n} Datei war beschädigt und liegt jetzt abseits.</numerusform>
        <numerusform>{n} Dateien waren beschädigt und liegen jetzt abseits.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>{n} things still use the models. Unload the lanes and let the work end first.</source>
      <translation>
        <numerusform>{n} Vorgang benutzt die Modelle noch. Entladen Sie die Bahnen und lassen Sie die Arbeit erst enden.</numerusform>
        <numerusform>{n} Vorgänge benutzen die Modelle noch. Entladen Sie die Bahnen und lassen Sie die Arbeit erst enden.</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/window.py"></location>
      <source>Pages</source>
      <translation>Seiten</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/window.py"></location>
      <source>This desktop shows no tray icons, so closing this window closes Synapse's tray application.</source>
      <translation>Diese Arbeitsfläche zeigt keine Symbole im Infobereich. Wird dieses Fenster geschlossen, endet deshalb auch die Anwendung; der Dienst läuft weiter.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>Adding a model</source>
      <translation>Modell hinzufügen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>Apple graphics (Metal)</source>
      <translation>Apple-Grafik (Metal)</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>Embedding</source>
      <translation>Einbetten</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>NVIDIA graphics (CUDA)</source>
      <translation>NVIDIA-Grafik (CUDA)</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>Neural Engine</source>
      <translation>Neural Engine</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>Probe</source>
      <translation>Prüfung</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>being verified</source>
      <translation>wird geprüft</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>cancelled</source>
      <translation>abgebrochen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>done</source>
      <translation>fertig</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>downloading</source>
      <translation>wird heruntergeladen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>embedding</source>
      <translation>Einbettung</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>failed</source>
      <translation>fehlgeschlagen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>failed: {reason}</source>
      <translation>fehlgeschlagen: {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>graphics card (Vulkan)</source>
      <translation>Grafikkarte (Vulkan)</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>has none</source>
      <translation>hat keine</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>in quarantine</source>
      <translation>in Quarantäne</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>installed model</source>
      <translation>installiertes Modell</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>job</source>
      <translation>Auftrag</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>llama worker</source>
      <translation>llama-Arbeitsprozess</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>loaded</source>
      <translation>geladen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>not loaded</source>
      <translation>nicht geladen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>not supported on this operating system</source>
      <translation>von diesem Betriebssystem nicht unterstützt</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>own model</source>
      <translation>eigenes Modell</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>passed</source>
      <comment>a self-check</comment>
      <translation>bestanden</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>pinned by</source>
      <translation>behalten von</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>processor</source>
      <translation>Prozessor</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>remote server</source>
      <translation>entfernter Server</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>request</source>
      <translation>Anfrage</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>reranking</source>
      <translation>Neuordnen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>running</source>
      <translation>läuft</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>self-check</source>
      <translation>Selbstprüfung</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>text generation</source>
      <translation>Texterzeugung</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>the device here is too old or too small</source>
      <translation>das Gerät hier ist zu alt oder zu klein</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>the part of Synapse that computes there is not installed</source>
      <translation>der Teil von Synapse, der dort rechnet, ist nicht installiert</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>this machine has no such device</source>
      <translation>dieser Rechner hat kein solches Gerät</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>unloading</source>
      <translation>wird entladen</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>waited too long for a sign-in</source>
      <translation>hat zu lange auf eine Anmeldung gewartet</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>waiting</source>
      <comment>state of a job</comment>
      <translation>wartet</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>waits for a sign-in</source>
      <translation>wartet auf eine Anmeldung</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>when it is first loaded</source>
      <translation>beim ersten Laden</translation>
    </message>
  </context>
</TS>
