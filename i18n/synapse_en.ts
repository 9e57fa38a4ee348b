<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en" sourcelanguage="en">
  <context>
    <name>Synapse</name>
    <message numerus="yes">
      <location filename="../app/synapse_app/application.py"></location>
      <source>{n} things are still loaded or running. Stop the service anyway?</source>
      <translation>
        <numerusform>{n} thing is still loaded or running. Stop the service anyway?</numerusform>
        <numerusform>{n} things are still loaded or running. Stop the service anyway?</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/figures.py"></location>
      <source>{n} s</source>
      <translation>
        <numerusform>{n} s</numerusform>
        <numerusform>{n} s</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/notify.py"></location>
      <source>and {n} more</source>
      <translation>
        <numerusform>and {n} more</numerusform>
        <numerusform>and {n} more</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/notify.py"></location>
      <source>{n} items are done.</source>
      <translation>
        <numerusform>{n} item is done.</numerusform>
        <numerusform>{n} items are done.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>{n} entries</source>
      <translation>
        <numerusform>{n} entry</numerusform>
        <numerusform>{n} entries</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>{n} entries were dropped because they came too fast</source>
      <translation>
        <numerusform>{n} entry was dropped because it came too fast</numerusform>
        <numerusform>{n} entries were dropped because they came too fast</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>For {n} minutes</source>
      <translation>
        <numerusform>For {n} minute</numerusform>
        <numerusform>For {n} minutes</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>At most {n} answers are scored.</source>
      <translation>
        <numerusform>At most {n} answer is scored.</numerusform>
        <numerusform>At most {n} answers are scored.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>{n} files</source>
      <translation>
        <numerusform>{n} file</numerusform>
        <numerusform>{n} files</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>{n} files left out</source>
      <translation>
        <numerusform>{n} file left out</numerusform>
        <numerusform>{n} files left out</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>{n} passages</source>
      <translation>
        <numerusform>{n} passage</numerusform>
        <numerusform>{n} passages</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/similar.py"></location>
      <source>At most {n} texts are compared.</source>
      <translation>
        <numerusform>At most {n} text is compared.</numerusform>
        <numerusform>At most {n} texts are compared.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/tray.py"></location>
      <source>{n} downloads running</source>
      <translation>
        <numerusform>{n} download running</numerusform>
        <numerusform>{n} downloads running</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/tray.py"></location>
      <source>{n} jobs running</source>
      <translation>
        <numerusform>{n} job running</numerusform>
        <numerusform>{n} jobs running</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/tray.py"></location>
      <source>{n} lanes loaded</source>
      <translation>
        <numerusform>{n} lane loaded</numerusform>
        <numerusform>{n} lanes loaded</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>{n} in the configuration file</source>
      <translation>
        <numerusform>{n} in the configuration file</numerusform>
        <numerusform>{n} in the configuration file</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>{n} files are missing: download their models again.</source>
      <translation>
        <numerusform>{n} file is missing: download its model again.</numerusform>
        <numerusform>{n} files are missing: download their models again.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>{n} files were damaged and are set aside.</source>
      <translation>
        <numerusform>{n} file was damaged and is set aside.</numerusform>
        <numerusform>{n} files were damaged and are set aside.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>{n} things still use the models. Unload the lanes and let the work end first.</source>
      <translation>
        <numerusform>{n} thing still uses the models. Unload the lanes and let the work end first.</numerusform>
        <numerusform>{n} things still use the models. Unload the lanes and let the work end first.</numerusform>
      </translation>
    </message>
  </context>
</TS>
