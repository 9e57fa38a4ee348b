<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="pl" sourcelanguage="en">
  <context>
    <name>Synapse</name>
    <message>
      <location filename="../app/synapse_app/application.py"></location>
      <source>Paused from the tray</source>
      <translation>Wstrzymano z zasobnika</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/application.py"></location>
      <source>Stop the service</source>
      <translation>Zatrzymaj usługę</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/application.py"></location>
      <source>{n} things are still loaded or running. Stop the service anyway?</source>
      <translation>
        <numerusform>{n} element jest nadal wczytany lub działa. Mimo to zatrzymać usługę?</numerusform>
        <numerusform>{n} elementy są nadal wczytane lub działają. Mimo to zatrzymać usługę?</numerusform>
        <numerusform>{n} elementów jest nadal wczytanych lub działa. Mimo to zatrzymać usługę?</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Certificate</source>
      <translation>Certyfikat</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Largest error of a score</source>
      <translation>Największy błąd oceny</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Likeness, at worst</source>
      <translation>Podobieństwo, najgorsze</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Likeness, on average</source>
      <translation>Podobieństwo, średnio</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Measured</source>
      <translation>Zmierzono</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>On</source>
      <translation>Na</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Reason</source>
      <translation>Powód</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Same neighbours, worst tenth</source>
      <translation>Ci sami sąsiedzi, najgorsza dziesiąta część</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Speed</source>
      <translation>Szybkość</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Texts compared</source>
      <translation>Porównane teksty</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>certified</source>
      <translation>certyfikowany</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>it was not probed on this machine</source>
      <translation>nie sprawdzono go na tym komputerze</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>needs none</source>
      <translation>nie potrzebuje</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>not certified: its results differ too much</source>
      <translation>bez certyfikatu: wyniki zbyt się różnią</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>not probed yet</source>
      <translation>jeszcze niesprawdzony</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>out of date: probe it again</source>
      <translation>nieaktualny: sprawdź ponownie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>something changed since it was probed</source>
      <translation>od sprawdzenia coś się zmieniło</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>the lane is in quarantine</source>
      <translation>tor jest w kwarantannie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>{count} tokens a second</source>
      <translation>{count} tokenów na sekundę</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>{value} (limit {gate})</source>
      <translation>{value} (próg {gate})</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/desktop_notices.py"></location>
      <source>Open Synapse</source>
      <translation>Otwórz Synapse</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/desktop_notices.py"></location>
      <source>Show</source>
      <translation>Pokaż</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/desktop_notices.py"></location>
      <source>Try again</source>
      <translation>Spróbuj ponownie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/figures.py"></location>
      <source>{hours} h {minutes} min</source>
      <translation>{hours} godz. {minutes} min</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/figures.py"></location>
      <source>{minutes} min {seconds} s</source>
      <translation>{minutes} min {seconds} s</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/figures.py"></location>
      <source>{n} s</source>
      <translation>
        <numerusform>{n} s</numerusform>
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
      <translation>Pobieranie nie powiodło się</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Job done</source>
      <translation>Zadanie ukończone</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Job failed</source>
      <translation>Zadanie nie powiodło się</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Lane in quarantine</source>
      <translation>Tor w kwarantannie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Lanes take requests again.</source>
      <translation>Tory znów przyjmują żądania.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Model installed</source>
      <translation>Model zainstalowany</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Pause ended</source>
      <translation>Koniec przerwy</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Self-check failed</source>
      <translation>Autotest nie powiódł się</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/notify.py"></location>
      <source>and {n} more</source>
      <translation>
        <numerusform>i jeszcze {n}</numerusform>
        <numerusform>i jeszcze {n}</numerusform>
        <numerusform>i jeszcze {n}</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>unknown reason</source>
      <translation>nieznana przyczyna</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>{model} could not be downloaded: {reason}</source>
      <translation>Nie udało się pobrać {model}: {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>{model} failed twice in a row and rests for a while.</source>
      <translation>{model} zawiódł dwa razy z rzędu i przez pewien czas odpoczywa.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>{model} gives wrong results on this machine and isn't used.</source>
      <translation>{model} daje na tym komputerze błędne wyniki i nie jest używany.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>{model} is ready to use.</source>
      <translation>{model} jest gotowy do użycia.</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/notify.py"></location>
      <source>{n} items are done.</source>
      <translation>
        <numerusform>Gotowy jest {n} element.</numerusform>
        <numerusform>Gotowe są {n} elementy.</numerusform>
        <numerusform>Gotowych jest {n} elementów.</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>&amp;Copy diagnostics</source>
      <translation>&amp;Kopiuj diagnostykę</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Activity</source>
      <translation>Aktywność</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Diagnostics copied.</source>
      <translation>Skopiowano diagnostykę.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Errors only</source>
      <translation>Tylko błędy</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Everything</source>
      <translation>Wszystko</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Information and above</source>
      <translation>Informacje i ważniejsze</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Level</source>
      <translation>Poziom</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Log entries</source>
      <translation>Wpisy dziennika</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Search the log</source>
      <translation>Przeszukaj dziennik</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Warnings and errors</source>
      <translation>Ostrzeżenia i błędy</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>{n} entries</source>
      <translation>
        <numerusform>{n} wpis</numerusform>
        <numerusform>{n} wpisy</numerusform>
        <numerusform>{n} wpisów</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>{n} entries were dropped because they came too fast</source>
      <translation>
        <numerusform>{n} wpis pominięto, bo nadszedł zbyt szybko</numerusform>
        <numerusform>{n} wpisy pominięto, bo nadeszły zbyt szybko</numerusform>
        <numerusform>{n} wpisów pominięto, bo nadeszły zbyt szybko</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/base.py"></location>
      <source>Reading…</source>
      <translation>Odczytywanie…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/base.py"></location>
      <source>The service is older than this application. Install both in one version.</source>
      <translation>Usługa jest starsza niż ten program. Zainstaluj oba w tej samej wersji.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/base.py"></location>
      <source>There is no connection to the service: {state}.</source>
      <translation>Brak połączenia z usługą: {state}.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Apps of this user reach the service at this socket, without a key and without a network.</source>
      <translation>Aplikacje tego użytkownika łączą się z usługą przez to gniazdo, bez klucza i bez sieci.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Connect</source>
      <translation>Połączenie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Copied</source>
      <translation>Skopiowano</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Copy</source>
      <translation>Kopiuj</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Copy the &amp;program</source>
      <translation>Kopiuj &amp;program</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Copy the co&amp;mmand</source>
      <translation>Kopiuj p&amp;olecenie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Copy: {what}</source>
      <translation>Kopiuj: {what}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Languages of programs</source>
      <translation>Języki programów</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Model</source>
      <translation>Wybór modelu</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>No model that embeds is installed yet; the command lines name one that isn't there.</source>
      <translation>Nie zainstalowano jeszcze modelu do osadzania; wiersze poleceń wskazują nieistniejący.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Node</source>
      <translation>Node</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Program: {file}</source>
      <translation>Kod programu: {file}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Python</source>
      <translation>Python</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Save this as {file}. It needs Node 18 or newer, and no package.</source>
      <translation>Zapisz to jako {file}. Potrzebuje Node 18 lub nowszego i żadnego pakietu.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Save this as {file}. It needs socat, or an nc that knows Unix sockets.</source>
      <translation>Zapisz to jako {file}. Potrzebuje socat albo nc, które zna gniazda uniksowe.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Save this as {file}. It needs the package synapse in the Python that runs it.</source>
      <translation>Zapisz to jako {file}. Potrzebuje pakietu synapse w Pythonie, który to uruchamia.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Shell</source>
      <translation>Powłoka</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Socket</source>
      <translation>Gniazdo</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>&amp;Choose models</source>
      <translation>&amp;Wybierz modele</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>&amp;Look again</source>
      <translation>&amp;Sprawdź ponownie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>&amp;Start with my session</source>
      <translation>&amp;Uruchamiaj z moją sesją</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Compute on the &amp;processor</source>
      <translation>Obliczaj na &amp;procesorze</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Computing on the processor</source>
      <translation>Obliczanie na procesorze</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Fixed by {variable}</source>
      <translation>Ustalone przez {variable}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>No supported accelerator was found, so models can only run on the processor. It is slower, and works.</source>
      <translation>Nie znaleziono obsługiwanego akceleratora, więc modele mogą działać tylko na procesorze. To wolniejsze, ale działa.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Starting</source>
      <translation>Uruchamianie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Synapse runs models on this machine for all your apps. What you choose here can be changed later.</source>
      <translation>Synapse uruchamia modele na tym komputerze dla wszystkich twoich aplikacji. To, co tu wybierzesz, można później zmienić.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>This machine has an accelerator, so the processor is only needed for models that don't run there.</source>
      <translation>Ten komputer ma akcelerator, więc procesor jest potrzebny tylko modelom, które na nim nie działają.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>This processor can't compute models.</source>
      <translation>Ten procesor nie może obliczać modeli.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Welcome to Synapse</source>
      <translation>Witamy w Synapse</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>What this machine can run</source>
      <translation>Co ten komputer może uruchomić</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Where models are kept</source>
      <translation>Gdzie są przechowywane modele</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>can run models</source>
      <translation>może uruchamiać modele</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Asked for by</source>
      <translation>Zlecone przez</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Begun</source>
      <translation>Rozpoczęte</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Ended</source>
      <translation>Zakończone</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Identifier</source>
      <translation>Identyfikator</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>It was cancelled. What it had committed stays readable.</source>
      <translation>Zostało anulowane. To, co zapisało, można nadal czytać.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Kept until</source>
      <translation>Przechowywane do</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Pages that can be read</source>
      <translation>Strony do odczytu</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Progress</source>
      <translation>Postęp</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>State</source>
      <translation>Stan</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>an app without a name</source>
      <translation>aplikacja bez nazwy</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>{count} a second</source>
      <translation>{count} na sekundę</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>{done} of {total}</source>
      <translation>{done} z {total}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>{time} left</source>
      <translation>pozostało {time}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>&amp;Cancel the job</source>
      <translation>&amp;Anuluj zadanie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>All jobs</source>
      <translation>Wszystkie zadania</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>Ended</source>
      <comment>jobs</comment>
      <translation>Zakończone</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>Going on</source>
      <translation>Trwające</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>Jobs</source>
      <translation>Zadania</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>Nothing has run yet. Downloads, probes and large batches of apps appear here by themselves.</source>
      <translation>Nic się jeszcze nie wykonało. Pobierania, sprawdzenia i duże partie z aplikacji pojawią się tu same.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>The newest {count} jobs are shown, and all that are going on.</source>
      <translation>Pokazane są najnowsze zadania (najwyżej {count}) oraz wszystkie trwające.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>There is no such job. Choose “All jobs” to see the others.</source>
      <translation>Nie ma takiego zadania. Wybierz „Wszystkie zadania”, aby zobaczyć pozostałe.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>Which jobs are shown</source>
      <translation>Które zadania są pokazane</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Answer time</source>
      <translation>Czas odpowiedzi</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Computes on</source>
      <translation>Oblicza na</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Files kept for</source>
      <translation>Pliki zachowane dla</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Fingerprint</source>
      <translation>Odcisk</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>It gave wrong results in its self-check on this machine, so it isn't used.</source>
      <translation>W autoteście na tym komputerze dał błędne wyniki, więc nie jest używany.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>It is tried again in {time}.</source>
      <translation>Następna próba za {time}.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Last used</source>
      <translation>Ostatnio używany</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Memory</source>
      <translation>Pamięć</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Probe it to release it.</source>
      <translation>Sprawdź go, aby go zwolnić.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Requests</source>
      <translation>Żądania</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Self-check</source>
      <translation>Autotest</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Stays loaded</source>
      <translation>Pozostaje wczytany</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>The pause waits: something doesn't end ({reason})</source>
      <translation>Wstrzymanie czeka: coś się nie kończy ({reason})</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>This lane failed twice in a row ({reason}) and takes no requests.</source>
      <translation>Ten tor zawiódł dwa razy z rzędu ({reason}) i nie przyjmuje żądań.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Used by</source>
      <translation>Używany przez</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>always</source>
      <translation>zawsze</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>answered: {count}</source>
      <translation>obsłużone: {count}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>being computed: {count}</source>
      <translation>obliczane: {count}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>for another {time} if nobody uses it</source>
      <translation>jeszcze {time}, jeśli nikt go nie użyje</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>nobody since it was loaded</source>
      <translation>nikogo od wczytania</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>none</source>
      <translation>brak</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>paused until it is resumed ({reason})</source>
      <translation>wstrzymano do wznowienia ({reason})</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>paused until {time}, {left} left ({reason})</source>
      <translation>wstrzymano do {time}, pozostało {left} ({reason})</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>refused: {count}</source>
      <translation>odrzucone: {count}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>requests: {count}</source>
      <translation>żądania: {count}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>until it is probed</source>
      <translation>do sprawdzenia</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>usually {time}</source>
      <translation>zwykle {time}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>waiting: {count}</source>
      <translation>oczekujące: {count}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>{time} for 95 of 100</source>
      <translation>{time} dla 95 na 100</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>{time} for half of the answers</source>
      <translation>{time} dla połowy odpowiedzi</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>&amp;Keep it loaded</source>
      <translation>&amp;Pozostaw wczytany</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>&amp;Load</source>
      <translation>&amp;Wczytaj</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>&amp;Pause all lanes</source>
      <translation>W&amp;strzymaj wszystkie tory</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>&amp;Resume all lanes</source>
      <translation>Wz&amp;nów wszystkie tory</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>&amp;Unload</source>
      <translation>&amp;Zwolnij</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>For {n} minutes</source>
      <translation>
        <numerusform>Na {n} minutę</numerusform>
        <numerusform>Na {n} minuty</numerusform>
        <numerusform>Na {n} minut</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Lanes</source>
      <translation>Tory</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Length of the pause</source>
      <translation>Czas wstrzymania</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>No model is installed yet, so there is no lane. Install one, or add a model of your own.</source>
      <translation>Nie zainstalowano jeszcze żadnego modelu, więc nie ma torów. Zainstaluj model lub dodaj własny.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Open the models</source>
      <translation>Otwórz modele</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Pause all lanes to have this machine's memory for something else.</source>
      <translation>Wstrzymaj wszystkie tory, aby zwolnić pamięć komputera na coś innego.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Paused in the window</source>
      <translation>Wstrzymano w oknie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Reason of the pause</source>
      <translation>Powód wstrzymania</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Reason, for others to read</source>
      <translation>Powód, do wiadomości innych</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Until resumed</source>
      <translation>Do wznowienia</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Download</source>
      <translation>Pobieranie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>It needs {need}, and {free} are free on the disk of the models.</source>
      <translation>Potrzebuje {need}, a na dysku modeli wolne jest {free}.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>It takes requests once a probe on this machine has certified it.</source>
      <translation>Będzie przyjmował żądania, gdy sprawdzenie na tym komputerze da mu certyfikat.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Licence</source>
      <translation>Licencja</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Longest text</source>
      <translation>Najdłuższy tekst</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Made for</source>
      <translation>Przeznaczenie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Models take more than the limit that is set. Remove models, or raise the limit in the settings.</source>
      <translation>Modele zajmują więcej niż ustawiony limit. Usuń modele albo podnieś limit w ustawieniach.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Models take {used} of {limit}; {free} are free on their disk.</source>
      <translation>Modele zajmują {used} z {limit}; na ich dysku wolne jest {free}.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Nothing on this machine can run it; the reasons are below.</source>
      <translation>Nic na tym komputerze nie może go uruchomić; powody są poniżej.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>On the disk</source>
      <translation>Na dysku</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Only {free} are free on the disk of the models. Remove models, or move them to another folder.</source>
      <translation>Na dysku modeli wolne jest tylko {free}. Usuń modele albo przenieś je do innego folderu.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Remove it and download it again, or use another model.</source>
      <translation>Usuń go i pobierz ponownie albo użyj innego modelu.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Runs on</source>
      <translation>Działa na</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Size</source>
      <translation>Rozmiar</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Source</source>
      <translation>Źródło</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>can't run on this machine</source>
      <translation>nie działa na tym komputerze</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>download failed</source>
      <translation>pobieranie nie powiodło się</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>everything is here and is being verified</source>
      <translation>wszystko pobrane, trwa weryfikacja</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>installed</source>
      <translation>zainstalowany</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>is being removed</source>
      <translation>usuwanie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>kept by a pin</source>
      <translation>zachowany znacznikiem</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>not certified</source>
      <translation>bez certyfikatu</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>not installed</source>
      <translation>niezainstalowany</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>nothing yet</source>
      <translation>jeszcze na niczym</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>outdated</source>
      <translation>nieaktualny</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>recommended</source>
      <translation>polecany</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>see its page at the source</source>
      <translation>zobacz stronę źródła</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>self-check failed</source>
      <translation>autotest niezaliczony</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>waits for its turn</source>
      <translation>czeka na swoją kolej</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>your own model</source>
      <translation>twój model</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>{count} tokens</source>
      <translation>tokenów: {count}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>{device}: no, {reason}</source>
      <translation>{device}: nie, {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>{device}: yes</source>
      <translation>{device}: tak</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>{size} are arriving.</source>
      <translation>Dociera {size}.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>{size} of it shared with other models</source>
      <translation>z tego {size} wspólne z innymi modelami</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Add your own model…</source>
      <translation>&amp;Dodaj własny model…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Cancel the download</source>
      <translation>&amp;Anuluj pobieranie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Certificate</source>
      <translation>&amp;Certyfikat</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Download</source>
      <translation>&amp;Pobierz</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;I know</source>
      <translation>&amp;Rozumiem</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Probe</source>
      <translation>&amp;Sprawdź</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Remove</source>
      <translation>&amp;Usuń</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Undo</source>
      <translation>&amp;Cofnij</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>All models</source>
      <translation>Wszystkie modele</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>Can run here</source>
      <translation>Mogą tu działać</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>For embedding</source>
      <translation>Do osadzania</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>For reranking</source>
      <translation>Do porządkowania</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>It is held by {holders}. Unload it and let its work end first.</source>
      <translation>Używa go {holders}. Najpierw go zwolnij i pozwól mu skończyć pracę.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>Models</source>
      <translation>Modele</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>No model matches. Change the search, or choose “All models”.</source>
      <translation>Żaden model nie pasuje. Zmień wyszukiwanie albo wybierz „Wszystkie modele”.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>On this machine</source>
      <translation>Na tym komputerze</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>Search the models</source>
      <translation>Szukaj modeli</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>The fingerprint of {models} changed. Indexes that were made with the old one need re-embedding.</source>
      <translation>Odcisk {models} się zmienił. Indeksy utworzone ze starym trzeba osadzić od nowa.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>Try &amp;again</source>
      <translation>Spróbuj &amp;ponownie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>Which models are shown</source>
      <translation>Które modele są pokazane</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>Your own</source>
      <translation>Własne</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>{model} is about to be removed from the disk.</source>
      <translation>{model} zaraz zostanie usunięty z dysku.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>{model} is in use ({holders}). Unload it and let its work end first.</source>
      <translation>{model} jest w użyciu ({holders}). Najpierw go zwolnij i pozwól mu skończyć pracę.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>&amp;Add and probe</source>
      <translation>&amp;Dodaj i sprawdź</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>&amp;Back</source>
      <translation>&amp;Wstecz</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>&amp;Choose…</source>
      <translation>&amp;Wybierz…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>A folder with model.safetensors and tokenizer.json</source>
      <translation>Folder z model.safetensors i tokenizer.json</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Compute on</source>
      <translation>Obliczaj na</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Folder</source>
      <translation>Folder</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Folder of a model</source>
      <translation>Folder modelu</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Found: {files}</source>
      <translation>Znaleziono: {files}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>It is ready to use.</source>
      <translation>Jest gotowy do użycia.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Its results are compared with the reference: {progress}</source>
      <translation>Wyniki są porównywane ze wzorcem: {progress}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Missing: {files}. Choose the folder that holds them.</source>
      <translation>Brakuje: {files}. Wybierz folder, który je zawiera.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Name</source>
      <translation>Nazwa</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Pooling</source>
      <translation>Agregacja</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Reading the files: {progress}</source>
      <translation>Odczyt plików: {progress}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>S&amp;top</source>
      <translation>Za&amp;trzymaj</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>The folder can't be read: {reason}</source>
      <translation>Nie można odczytać folderu: {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>The service takes the files over and reads them: {progress}</source>
      <translation>Usługa przejmuje pliki i czyta je: {progress}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>What it does</source>
      <translation>Co robi</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>first token</source>
      <translation>pierwszy token</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>last token</source>
      <translation>ostatni token</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>mean of all tokens</source>
      <translation>średnia wszystkich tokenów</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>{file} can't be read: {reason}</source>
      <translation>Nie można odczytać {file}: {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/playground.py"></location>
      <source>Playground</source>
      <translation>Poligon</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Allow grammars in text generation</source>
      <translation>Zezwól na gramatyki przy generowaniu tekstu</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Compute on the processor</source>
      <translation>Obliczaj na procesorze</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Connections at a time</source>
      <translation>Jednoczesne połączenia</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Downloads</source>
      <translation>Pobieranie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>File with trusted certificates</source>
      <translation>Plik z zaufanymi certyfikatami</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Folder for model files</source>
      <translation>Folder na pliki modeli</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>How long results of jobs are kept</source>
      <translation>Jak długo przechowywane są wyniki zadań</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Least severe log entries</source>
      <translation>Najmniej ważne wpisy dziennika</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Let apps declare model aliases</source>
      <translation>Aplikacje mogą tworzyć aliasy modeli</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Limits and logging</source>
      <translation>Limity i dziennik</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Longest wait in the queue</source>
      <translation>Najdłuższe oczekiwanie w kolejce</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Models that are loaded at the start</source>
      <translation>Modele wczytywane przy starcie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Proxy for downloads</source>
      <translation>Serwer proxy do pobierania</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Record what engines get</source>
      <translation>Zapisuj, co dostają silniki</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Requests at a time on a connection</source>
      <translation>Jednoczesne żądania na połączenie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Requests that may wait for a lane</source>
      <translation>Żądania mogące czekać na tor</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Settings</source>
      <translation>Ustawienia</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Size of one request</source>
      <translation>Rozmiar jednego żądania</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Space for model files</source>
      <translation>Miejsce na pliki modeli</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Speed or quiet</source>
      <translation>Szybko czy cicho</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Storage</source>
      <translation>Przechowywanie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Texts in one request</source>
      <translation>Teksty w jednym żądaniu</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>This application</source>
      <translation>Ta aplikacja</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Threads for each processor lane</source>
      <translation>Wątki na każdy tor procesora</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Time for one request</source>
      <translation>Czas na jedno żądanie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Time of bulk work at a time</source>
      <translation>Czas jednej porcji pracy masowej</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Tokens in one request</source>
      <translation>Tokeny w jednym żądaniu</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Tokens of bulk work at a time</source>
      <translation>Tokeny jednej porcji pracy masowej</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Tokens of one generated answer</source>
      <translation>Tokeny jednej wygenerowanej odpowiedzi</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Unload a lane that nobody has used for</source>
      <translation>Zwolnij tor nieużywany przez</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Where models are downloaded from</source>
      <translation>Skąd pobierane są modele</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/heat_map.py"></location>
      <source>Similarities</source>
      <translation>Podobieństwa</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/heat_map.py"></location>
      <source>{one} and {other}: {score}</source>
      <translation>{one} i {other}: {score}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/panel.py"></location>
      <source>No model serves this yet</source>
      <translation>Żaden model jeszcze tego nie robi</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>A question</source>
      <translation>Pytanie do odpowiedzi</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Answers by score</source>
      <translation>Odpowiedzi według oceny</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>At most {n} answers are scored.</source>
      <translation>
        <numerusform>Oceniana jest najwyżej {n} odpowiedź.</numerusform>
        <numerusform>Oceniane są najwyżej {n} odpowiedzi.</numerusform>
        <numerusform>Ocenianych jest najwyżej {n} odpowiedzi.</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Possible answers</source>
      <translation>Możliwe odpowiedzi</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Possible answers, each on a line of its own</source>
      <translation>Możliwe odpowiedzi, każda w osobnym wierszu</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Question</source>
      <translation>Pytanie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Rerank</source>
      <translation>Ranking</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Score</source>
      <translation>Oceń</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Scores are the model's own, from 0 to 1, and can't be compared with those of another model.</source>
      <translation>Oceny pochodzą wprost z modelu, od 0 do 1, i nie można ich porównywać z ocenami innego modelu.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Cancel</source>
      <translation>Anuluj</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Choose a folder…</source>
      <translation>Wybierz folder…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Files that were left out</source>
      <translation>Pominięte pliki</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Passages found</source>
      <translation>Znalezione fragmenty</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Reading the files…</source>
      <translation>Czytanie plików…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Reads up to {files} UTF-8 files of up to {size}, {passages} passages in all. Nothing is stored.</source>
      <translation>Czyta do {files} plików UTF-8 o rozmiarze do {size}, łącznie {passages} fragmentów. Nic nie jest zapisywane.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Search</source>
      <translation>Szukaj</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Search a folder</source>
      <translation>Szukaj w folderze</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>What do you look for?</source>
      <translation>Czego szukasz?</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>a link</source>
      <translation>dowiązanie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>can't be read</source>
      <translation>nie do odczytania</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>empty</source>
      <translation>pusty</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>indexed with {lane}</source>
      <translation>zindeksowano przez {lane}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>not UTF-8 text</source>
      <translation>nie jest tekstem UTF-8</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>not a file</source>
      <translation>nie jest plikiem</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>over the limit</source>
      <translation>ponad limitem</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>too large</source>
      <translation>za duży</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>{file}, line {line}</source>
      <translation>{file}, wiersz {line}</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>{n} files</source>
      <translation>
        <numerusform>{n} plik</numerusform>
        <numerusform>{n} pliki</numerusform>
        <numerusform>{n} plików</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>{n} files left out</source>
      <translation>
        <numerusform>pominięto {n} plik</numerusform>
        <numerusform>pominięto {n} pliki</numerusform>
        <numerusform>pominięto {n} plików</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>{n} passages</source>
      <translation>
        <numerusform>{n} fragment</numerusform>
        <numerusform>{n} fragmenty</numerusform>
        <numerusform>{n} fragmentów</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/similar.py"></location>
      <source>At most {n} texts are compared.</source>
      <translation>
        <numerusform>Porównywany jest najwyżej {n} tekst.</numerusform>
        <numerusform>Porównywane są najwyżej {n} teksty.</numerusform>
        <numerusform>Porównywanych jest najwyżej {n} tekstów.</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/similar.py"></location>
      <source>Compare</source>
      <translation>Porównaj</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/similar.py"></location>
      <source>Similar texts</source>
      <translation>Podobne teksty</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/similar.py"></location>
      <source>Texts to compare</source>
      <translation>Teksty do porównania</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/similar.py"></location>
      <source>The stronger the colour, the more alike.</source>
      <translation>Im mocniejszy kolor, tym większe podobieństwo.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/similar.py"></location>
      <source>Two texts or more, each on a line of its own</source>
      <translation>Dwa teksty lub więcej, każdy w osobnym wierszu</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>Cancelled.</source>
      <translation>Anulowano.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>Something still uses this model. Unload it and let its work end first.</source>
      <translation>Coś nadal używa tego modelu. Najpierw go zwolnij i pozwól zakończyć pracę.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>Synapse is closing.</source>
      <translation>Synapse kończy pracę.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The connection to the service ended. Look at the state before you try again.</source>
      <translation>Połączenie z usługą zostało przerwane. Sprawdź stan, zanim spróbujesz ponownie.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The download failed. Check the network and try again; what has arrived is kept.</source>
      <translation>Pobieranie nie powiodło się. Sprawdź sieć i spróbuj ponownie; to, co dotarło, zostaje zachowane.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The files aren't what they should be. Get them again, and then try again.</source>
      <translation>Pliki nie są takie, jak powinny. Pobierz je od nowa i spróbuj ponownie.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service could not be started. Run “synapse doctor” to see what is wrong.</source>
      <translation>Nie udało się uruchomić usługi. Polecenie „synapse doctor” pokaże, co jest nie tak.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service could not write to its disk. Make sure that the disk isn't full.</source>
      <translation>Usługa nie mogła zapisać na dysku. Sprawdź, czy dysk nie jest pełny.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service did not answer in time. It may be busy; try again, or restart it.</source>
      <translation>Usługa nie odpowiedziała na czas. Może być zajęta; spróbuj ponownie albo uruchom ją od nowa.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service is not running. Start it from the tray menu.</source>
      <translation>Usługa nie działa. Uruchom ją z menu w zasobniku.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service is too busy at the moment. Try again shortly.</source>
      <translation>Usługa jest teraz zbyt zajęta. Spróbuj za chwilę.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service stopped while this was going on. Start it again.</source>
      <translation>Usługa zatrzymała się w trakcie. Zacznij to od nowa.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service was asked to stop and still runs. Try again, or end its process.</source>
      <translation>Usługa miała się zatrzymać, a nadal działa. Spróbuj ponownie albo zakończ jej proces.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service's socket belongs to somebody else or can't be opened. Run “synapse doctor” to see who owns it.</source>
      <translation>Gniazdo usługi należy do kogoś innego lub nie można go otworzyć. Polecenie „synapse doctor” pokaże właściciela.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>This lane is paused. Resume it, or wait until the pause ends.</source>
      <translation>Ten tor jest wstrzymany. Wznów go albo poczekaj do końca przerwy.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>This machine can't run that model.</source>
      <translation>Ten komputer nie może uruchomić tego modelu.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>This model failed its self-check on this machine, so it isn't used.</source>
      <translation>Ten model nie przeszedł autotestu na tym komputerze, więc nie jest używany.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>Too much is waiting for this lane. Try again shortly.</source>
      <translation>Zbyt wiele czeka na ten tor. Spróbuj za chwilę.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>Tray and service don't understand each other. Install both in one version.</source>
      <translation>Zasobnik i usługa się nie rozumieją. Zainstaluj oba w tej samej wersji.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Awake again: the lanes are being checked…</source>
      <translation>Komputer się obudził: tory są sprawdzane…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Close tray</source>
      <translation>Zamknij zasobnik</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Close tray (the service keeps running)</source>
      <translation>Zamknij zasobnik (usługa działa dalej)</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Looking for the service…</source>
      <translation>Szukanie usługi…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Pause all lanes</source>
      <translation>Wstrzymaj wszystkie tory</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Ready</source>
      <translation>Gotowe</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Resume all lanes</source>
      <translation>Wznów wszystkie tory</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Service {version} is another version than this</source>
      <translation>Usługa {version} ma inną wersję niż ta aplikacja</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Settings…</source>
      <translation>Ustawienia…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Start the service</source>
      <translation>Uruchom usługę</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Stop the service…</source>
      <translation>Zatrzymaj usługę…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service doesn't answer</source>
      <translation>Usługa nie odpowiada</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service has another version</source>
      <translation>Usługa ma inną wersję</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service is not running</source>
      <translation>Usługa nie działa</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service is starting…</source>
      <translation>Usługa się uruchamia…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service is stopping…</source>
      <translation>Usługa się zatrzymuje…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service was stopped</source>
      <translation>Usługę zatrzymano</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service's socket can't be used</source>
      <translation>Nie można użyć gniazda usługi</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>loading</source>
      <translation>wczytywanie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>paused</source>
      <translation>wstrzymany</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>ready</source>
      <translation>gotowy</translation>
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
        <numerusform>Trwa {n} pobieranie</numerusform>
        <numerusform>Trwają {n} pobierania</numerusform>
        <numerusform>Trwa {n} pobierań</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/tray.py"></location>
      <source>{n} jobs running</source>
      <translation>
        <numerusform>Trwa {n} zadanie</numerusform>
        <numerusform>Trwają {n} zadania</numerusform>
        <numerusform>Trwa {n} zadań</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/tray.py"></location>
      <source>{n} lanes loaded</source>
      <translation>
        <numerusform>Wczytano {n} tor</numerusform>
        <numerusform>Wczytano {n} tory</numerusform>
        <numerusform>Wczytano {n} torów</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/autostart_box.py"></location>
      <source>That could not be changed: {reason}</source>
      <translation>Nie udało się tego zmienić: {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Appearance</source>
      <translation>Wygląd</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>As the system</source>
      <translation>Jak w systemie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Dark</source>
      <translation>Ciemny</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Full</source>
      <translation>Pełny</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Language</source>
      <translation>Język</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Light</source>
      <translation>Jasny</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Motion</source>
      <translation>Ruch</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Notify me when a download is done or failed</source>
      <translation>Powiadom, gdy pobieranie się skończy lub nie powiedzie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Notify me when a job is done or failed</source>
      <translation>Powiadom, gdy zadanie się skończy lub nie powiedzie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Notify me when a lane goes into quarantine</source>
      <translation>Powiadom, gdy tor trafi do kwarantanny</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Notify me when a pause ends</source>
      <translation>Powiadom, gdy skończy się przerwa</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Notify me when a self-check fails</source>
      <translation>Powiadom, gdy autotest się nie powiedzie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Reduced</source>
      <translation>Ograniczony</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Show the welcome page again</source>
      <translation>Pokaż ponownie stronę powitalną</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Start with my session</source>
      <translation>Uruchamiaj z moją sesją</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Text size</source>
      <translation>Rozmiar tekstu</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Balanced</source>
      <comment>a setting</comment>
      <translation>Zrównoważony</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Changed from {default}</source>
      <translation>Zmieniono z {default}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Default</source>
      <translation>Domyślne</translation>
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
      <translation>Wydajność</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Quiet</source>
      <comment>a setting</comment>
      <translation>Cichy</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Use default</source>
      <translation>Użyj domyślnej</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Use the default of {setting}</source>
      <translation>Użyj wartości domyślnej: {setting}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>h</source>
      <comment>hours, after a number</comment>
      <translation>godz.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>min</source>
      <comment>minutes, after a number</comment>
      <translation>min</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>nothing</source>
      <translation>nic</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>off</source>
      <translation>wył.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>on</source>
      <translation>wł.</translation>
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
      <translation>zadziała po ponownym uruchomieniu usługi</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>{low} to {high}</source>
      <translation>od {low} do {high}</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>{n} in the configuration file</source>
      <translation>
        <numerusform>{n} w pliku konfiguracyjnym</numerusform>
        <numerusform>{n} w pliku konfiguracyjnym</numerusform>
        <numerusform>{n} w pliku konfiguracyjnym</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Another service uses this folder. Stop that one.</source>
      <translation>Tego folderu używa inna usługa. Zatrzymaj ją.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>In use.</source>
      <translation>W użyciu.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>It is too late to take the move back.</source>
      <translation>Za późno, by cofnąć przenoszenie.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Move the models…</source>
      <translation>Przenieś modele…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Move them to the usual folder</source>
      <translation>Przenieś do zwykłego folderu</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Moving to {folder}: {share}</source>
      <translation>Przenoszenie do {folder}: {share}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Moving to {folder}: {share}, {time} left</source>
      <translation>Przenoszenie do {folder}: {share}, zostało {time}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>One of the two folders lies in the other. Choose one beside it.</source>
      <translation>Jeden z folderów leży w drugim. Wybierz inny, obok.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Something else lies in that folder. Choose an empty one.</source>
      <translation>W tym folderze leży coś innego. Wybierz pusty.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Take the move back</source>
      <translation>Cofnij przenoszenie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The disk can't be written. Make it writable.</source>
      <translation>Na dysku nie można zapisywać. Umożliw zapis.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The folder isn't there. Plug in its disk, or choose another folder.</source>
      <translation>Tego folderu nie ma. Podłącz jego dysk albo wybierz inny folder.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The last files are being put in order…</source>
      <translation>Porządkowane są ostatnie pliki…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The last move failed: {reason}</source>
      <translation>Ostatnie przenoszenie się nie udało: {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The last move was taken back.</source>
      <translation>Ostatnie przenoszenie zostało cofnięte.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The models are being moved.</source>
      <translation>Modele są przenoszone.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The models are in that folder already.</source>
      <translation>Modele są już w tym folderze.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The models of this folder are used.</source>
      <translation>Używane są modele z tego folderu.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The models were moved.</source>
      <translation>Modele zostały przeniesione.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The move is being taken back…</source>
      <translation>Przenoszenie jest cofane…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The setting was changed, but the models lie elsewhere. Move them, or use what is here.</source>
      <translation>Ustawienie zmieniono, ale modele leżą gdzie indziej. Przenieś je albo użyj tych stąd.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>There are models in that folder already. Use them instead of moving yours there.</source>
      <translation>W tym folderze są już modele. Użyj ich zamiast przenosić tam swoje.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>There are no models in that folder.</source>
      <translation>W tym folderze nie ma modeli.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>There is no such folder. Make it first.</source>
      <translation>Nie ma takiego folderu. Najpierw go utwórz.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>There is not enough space on that disk.</source>
      <translation>Na tym dysku jest za mało miejsca.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>These are other models than before. Put the right disk back, or use these.</source>
      <translation>To inne modele niż przedtem. Podłącz właściwy dysk albo użyj tych.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>This folder can't be used: it is open to other users, or holds something else.</source>
      <translation>Tego folderu nie można użyć: jest otwarty dla innych użytkowników albo zawiera coś innego.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Use the models of a folder…</source>
      <translation>Użyj modeli z folderu…</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>{n} files are missing: download their models again.</source>
      <translation>
        <numerusform>Brakuje {n} pliku: pobierz jego model ponownie.</numerusform>
        <numerusform>Brakuje {n} plików: pobierz ich modele ponownie.</numerusform>
        <numerusform>Brakuje {n} plików: pobierz ich modele ponownie.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>{n} files were damaged and are set aside.</source>
      <translation>
        <numerusform>{n} plik był uszkodzony i został odłożony.</numerusform>
        <numerusform>{n} pliki były uszkodzone i zostały odłożone.</numerusform>
        <numerusform>{n} plików było uszkodzonych i zostało odłożonych.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>{n} things still use the models. Unload the lanes and let the work end first.</source>
      <translation>
        <numerusform>{n} zadanie jeszcze używa modeli. Zwolnij tory i poczekaj na koniec pracy.</numerusform>
        <numerusform>{n} zadania jeszcze używają modeli. Zwolnij tory i poczekaj na koniec pracy.</numerusform>
        <numerusform>{n} zadań jeszcze używa modeli. Zwolnij tory i poczekaj na koniec pracy.</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/window.py"></location>
      <source>Pages</source>
      <translation>Strony</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/window.py"></location>
      <source>This desktop shows no tray icons, so closing this window closes Synapse's tray application.</source>
      <translation>Ten pulpit nie pokazuje ikon w zasobniku, więc zamknięcie tego okna zamyka aplikację zasobnika Synapse.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>Adding a model</source>
      <translation>Dodawanie modelu</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>Apple graphics (Metal)</source>
      <translation>grafika Apple (Metal)</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>Embedding</source>
      <translation>Osadzanie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>NVIDIA graphics (CUDA)</source>
      <translation>grafika NVIDIA (CUDA)</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>Neural Engine</source>
      <translation>Neural Engine</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>Probe</source>
      <translation>Sprawdzanie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>being verified</source>
      <translation>weryfikacja</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>cancelled</source>
      <translation>anulowano</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>done</source>
      <translation>gotowe</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>downloading</source>
      <translation>pobieranie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>embedding</source>
      <translation>osadzanie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>failed</source>
      <translation>niepowodzenie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>failed: {reason}</source>
      <translation>niepowodzenie: {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>graphics card (Vulkan)</source>
      <translation>karta graficzna (Vulkan)</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>has none</source>
      <translation>nie ma</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>in quarantine</source>
      <translation>w kwarantannie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>installed model</source>
      <translation>zainstalowany model</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>job</source>
      <translation>zadanie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>llama worker</source>
      <translation>proces llama</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>loaded</source>
      <translation>wczytany</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>not loaded</source>
      <translation>niewczytany</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>not supported on this operating system</source>
      <translation>nieobsługiwane w tym systemie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>own model</source>
      <translation>własny model</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>passed</source>
      <comment>a self-check</comment>
      <translation>zaliczony</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>pinned by</source>
      <translation>zachowany przez</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>processor</source>
      <translation>procesor</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>remote server</source>
      <translation>zdalny serwer</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>request</source>
      <translation>żądanie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>reranking</source>
      <translation>porządkowanie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>running</source>
      <translation>w toku</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>self-check</source>
      <translation>autotest</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>text generation</source>
      <translation>generowanie tekstu</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>the device here is too old or too small</source>
      <translation>urządzenie jest tu za stare lub za małe</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>the part of Synapse that computes there is not installed</source>
      <translation>część Synapse, która tam oblicza, nie jest zainstalowana</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>this machine has no such device</source>
      <translation>ten komputer nie ma takiego urządzenia</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>unloading</source>
      <translation>zwalnianie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>waited too long for a sign-in</source>
      <translation>zbyt długo czekało na logowanie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>waiting</source>
      <comment>state of a job</comment>
      <translation>oczekuje</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>waits for a sign-in</source>
      <translation>czeka na logowanie</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>when it is first loaded</source>
      <translation>przy pierwszym wczytaniu</translation>
    </message>
  </context>
</TS>
